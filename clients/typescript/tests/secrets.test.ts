// Keys and passwords are never in the text of an error, and what cannot be sent is refused before it is sent.
import assert from "node:assert/strict";
import { inspect } from "node:util";
import { describe, it } from "node:test";
import { GatewayClient } from "mcp-tool-gateway";
import { startServer } from "./harness.js";

/** What an error shows to whoever prints it. */
function shown(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    assert.ok(error instanceof TypeError, String(error));
    return inspect(error);
  }
  return assert.fail("nothing was thrown");
}

describe("the constructor", () => {
  it("refuses headers that cannot be sent, by their names", () => {
    for (const end of ["\n", "\r\nx-more: 1", "\0", "…", "\u007f"]) {
      const key = `sk-very-secret${end}`;
      assert.match(shown(() => new GatewayClient({ apiKey: key })), /the header authorization cannot be sent/);
      assert.match(shown(() => new GatewayClient({ headers: { "X-Api-Key": key } })), /the header X-Api-Key cannot be sent/);
      for (const options of [{ apiKey: key }, { headers: { "X-Api-Key": key } }]) {
        assert.doesNotMatch(shown(() => new GatewayClient(options)), /sk-very-secret/);
      }
    }
    assert.match(shown(() => new GatewayClient({ headers: { "no name": "1" } })), /`no name` cannot be the name of a header/);
    assert.ok(new GatewayClient({ apiKey: "all that is visible: ~!@#$%^&*()_+ ÿ\t" }));
  });

  it("refuses addresses that are none, without their passwords", () => {
    for (const baseUrl of ["http://user:pass-word@127.0.0.1:8787", "http://user:pass-word@[", "ftp://user:pass-word@x", "user:pass-word@x", "http://pass-word@x", "http://x/?key=pass-word", "http://x#pass-word"]) {
      const text = shown(() => new GatewayClient({ baseUrl }));
      assert.match(text, /baseUrl/);
      assert.doesNotMatch(text, /pass-word/, baseUrl);
    }
    for (const baseUrl of ["http://[", "http://", "127.0.0.1:8787", "http://x:99999", "http:///x", ""]) {
      assert.match(shown(() => new GatewayClient({ baseUrl })), /baseUrl `.*` is no address/, baseUrl);
    }
    for (const baseUrl of ["http://x", "https://x.example:1/prefix", "http://[::1]:8787", "http://x/"]) assert.ok(new GatewayClient({ baseUrl }));
  });
});

describe("a request", () => {
  it("with headers that cannot be sent is refused, and nothing is sent", async () => {
    const { url: baseUrl, requests } = await startServer((_, response) => response.writeHead(200).end("{}"));
    const client = new GatewayClient({ baseUrl, retryDelayMs: 1 });
    const bad = "sk-very-secret\n1";
    for (const options of [{ headers: { "x-api-key": bad } }, { correlationId: bad }, { idempotencyKey: bad }]) {
      await assert.rejects(client.callTool("s", "t", {}, options), (error: Error) => {
        assert.ok(error instanceof TypeError, inspect(error));
        assert.match(error.message, /^the header [a-z-]+ cannot be sent/);
        assert.doesNotMatch(inspect(error), /sk-very-secret/);
        return true;
      });
    }
    assert.equal(requests.length, 0);
  });
});
