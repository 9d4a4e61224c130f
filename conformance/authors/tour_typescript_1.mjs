// The official TypeScript SDK, first line; what it is given and what it prints is as in tour_python_1.py.

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const { url, command, args, env, calls } = JSON.parse(process.argv[2]);
const client = new Client({ name: "tour", version: "1" });
await client.connect(url ? new StreamableHTTPClientTransport(new URL(url)) : new StdioClientTransport({ command, args, env }));
const seen = { server: client.getServerVersion(), tools: (await client.listTools()).tools, results: [] };
for (const [name, given] of calls) {
  try {
    seen.results.push(await client.callTool({ name, arguments: given }));
  } catch (error) {
    seen.results.push(String(error));
  }
}
console.log(JSON.stringify(seen));
await client.close();
process.exit(0);
