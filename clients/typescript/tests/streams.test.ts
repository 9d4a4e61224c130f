// Streams whose reader is slow, or reads a lot, and errors in them.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { GatewayClient, GatewayHttpError } from "mcp-tool-gateway";
import { startServer } from "./harness.js";

const events = { "content-type": "text/event-stream" };

describe("an error in a stream", () => {
  it("reads as that of any answer, with 500 where it does not say a status", async () => {
    const rows: Array<[string, string]> = [
      ['{"error": "gone", "code": "SERVER_ERROR", "status": 502}', "Gateway HTTP 502: gone"],
      ['{"error": "gone", "code": "SERVER_ERROR"}', "Gateway HTTP 500: gone"],
      ['{"error": "gone", "status": "INTERNAL"}', "Gateway HTTP 500: gone"],
      ['"gone"', "Gateway HTTP 500: gone"],
      ["null", "Gateway HTTP 500: no reason given"],
    ];
    for (const [data, message] of rows) {
      const { url: baseUrl } = await startServer((_, response) => response.writeHead(200, events).end(`event: error\ndata: ${data}\n\n`));
      await assert.rejects(new GatewayClient({ baseUrl }).callToolStream("s", "t").next(), (error: GatewayHttpError) => {
        assert.ok(error instanceof GatewayHttpError);
        assert.equal(error.message, message);
        return true;
      });
    }
  });
});
