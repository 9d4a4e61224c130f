// Compiled by itself, as in a project for browsers: without the types of Node.
import { GatewayClient, type ToolsOf } from "mcp-tool-gateway";

const client = new GatewayClient({ baseUrl: location.origin });
export const tools: Promise<ToolsOf<"openai">> = client.getTools("openai");
export async function show(signal: AbortSignal): Promise<void> {
  for await (const entry of client.followLogs({ signal })) document.title = entry.tool ?? "";
}
