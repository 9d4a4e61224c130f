// What somebody writes first: a gateway, the tools, a call; and the engine without a gateway. Prints what it saw.
import { convert } from "mcp-tool-gateway/engine";
import { Gateway } from "mcp-tool-gateway/gateway";

const gateway = await Gateway.start({ mcpServers: { demo: { type: "builtin" } } });
const { tools } = await gateway.client.getTools("openai");
const { structuredContent } = await gateway.client.callTool("demo", "add", { a: 2, b: 40 });
await gateway.close();

const tool = {
  name: "greet",
  description: "Says hello",
  inputSchema: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
};
const converted = convert([tool], { to: "openai" });
const after = await fetch(`${gateway.url}/health`).then(
  (answer) => answer.status,
  () => "nobody listens",
);
console.log(JSON.stringify({ listed: tools.map((tool) => tool.function.name), called: structuredContent.result, converted, after }));
