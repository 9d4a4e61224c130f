/** A client for MCP Tool Gateway, for Node and browsers. */
export * from "./client.js";
export { GatewayClient as MCPToolGatewayClient, GatewayClient as McpToolGatewayClient } from "./client.js";
export * from "./errors.js";
export type { ServerEvent } from "./events.js";
export type * from "./generated/operations.js";
export type * from "./generated/schemas.js";
export type { FollowOptions } from "./logs.js";
export type { GatewayClientOptions, RequestOptions, ResponseInfo } from "./options.js";
export type * from "./providers.js";
export type * from "./requests.js";
export type { MessageForm } from "./sdk.js";
export type { ToolEvent } from "./streams.js";
