// The shapes of tools and messages, by dialect, so that they fit the types of the providers' own SDKs. Schemas are `any`
// inside, because SDKs type them in many ways, Google's by an enum of its own, for the same JSON.

/** A JSON Schema of parameters, in the subset of its dialect. */
export type ParameterSchema = { [keyword: string]: any };

/** Chat Completions of OpenAI, and all that copied them. */
export interface ChatTool {
  type: "function";
  function: { name: string; description?: string; parameters: ParameterSchema; strict?: boolean };
}

/** OpenAI's Responses. */
export interface ResponsesTool {
  type: "function";
  name: string;
  description?: string;
  parameters: ParameterSchema;
  strict: boolean;
}

/** OpenAI's functions, as they were before tools. */
export interface FunctionTool {
  name: string;
  description?: string;
  parameters: ParameterSchema;
}

/** Anthropic's Messages. */
export interface AnthropicTool {
  name: string;
  description?: string;
  input_schema: { type: "object"; properties?: ParameterSchema; required?: string[]; [keyword: string]: unknown };
  strict?: boolean;
}

/** Gemini's function declarations; `parametersJsonSchema` in the dialects that end in `-json`. */
export interface GeminiDeclaration {
  name: string;
  description?: string;
  parameters?: ParameterSchema;
  parametersJsonSchema?: ParameterSchema;
}

/** Bedrock's Converse. */
export interface BedrockTool {
  toolSpec: { name: string; description?: string; inputSchema: { json: ParameterSchema }; strict?: boolean };
}

/** MCP itself. */
export interface McpTool {
  name: string;
  title?: string;
  description?: string;
  inputSchema: ParameterSchema;
  outputSchema?: ParameterSchema;
  annotations?: ParameterSchema;
  _meta?: ParameterSchema;
}

interface ChatFamily {
  tool: ChatTool;
  list: { tools: ChatTool[] };
  message: ChatResult | ChatMedia;
}

/** The result of a call in Chat Completions. */
export interface ChatResult {
  role: "tool";
  tool_call_id: string;
  content: string;
}

/** What a result of Chat Completions cannot carry: images and sounds. */
export interface ChatMedia {
  role: "user";
  content: any;
}

interface ResponsesFamily {
  tool: ResponsesTool;
  list: { tools: ResponsesTool[] };
  message: { type: "function_call_output"; call_id: string; output: any };
}

interface FunctionsFamily {
  tool: FunctionTool;
  list: { functions: FunctionTool[] };
  message: { role: "function"; name: string; content: string } | ChatMedia;
}

interface AnthropicFamily {
  tool: AnthropicTool;
  list: { tools: AnthropicTool[] };
  message: { role: "user"; content: any[] };
}

interface GeminiFamily {
  tool: GeminiDeclaration;
  list: { function_declarations: GeminiDeclaration[] };
  message: { role: "user"; parts: any[] };
}

interface BedrockFamily {
  tool: BedrockTool;
  list: { tools: BedrockTool[] };
  message: { role: "user"; content: any[] };
}

interface CamelCaseFamily {
  tool: ChatTool;
  list: { tools: ChatTool[] };
  message: { role: "tool"; toolCallId: string; content: any; name?: string };
}

interface OllamaFamily {
  tool: ChatTool;
  list: { tools: ChatTool[] };
  message: { role: "tool"; content: string; tool_name: string; images?: string[] };
}

interface McpFamily {
  tool: McpTool;
  list: { tools: McpTool[] };
  message: any;
}

/** The shapes of each dialect. */
export interface Providers {
  openai: ChatFamily;
  "openai-chat": ChatFamily;
  "openai-chat-strict": ChatFamily;
  "openai-responses": ResponsesFamily;
  "openai-responses-strict": ResponsesFamily;
  "openai-functions": FunctionsFamily;
  "openai-compatible": ChatFamily;
  "azure-openai": ChatFamily;
  anthropic: AnthropicFamily;
  "anthropic-strict": AnthropicFamily;
  gemini: GeminiFamily;
  "gemini-json": GeminiFamily;
  "gemini-legacy": GeminiFamily;
  "gemini-bare": GeminiFamily;
  vertex: GeminiFamily;
  "vertex-json": GeminiFamily;
  bedrock: BedrockFamily;
  mistral: CamelCaseFamily;
  cohere: CamelCaseFamily;
  xai: ChatFamily;
  groq: ChatFamily;
  deepseek: ChatFamily;
  "deepseek-strict": ChatFamily;
  moonshot: ChatFamily;
  dial: ChatFamily;
  argo: ChatFamily;
  ollama: OllamaFamily;
  "ollama-openai": ChatFamily;
  vllm: ChatFamily;
  llamacpp: ChatFamily;
  lmstudio: ChatFamily;
  mcp: McpFamily;
}

/** The dialects whose shapes are known here. */
export type KnownProvider = keyof Providers;

/** Any dialect: of a newer gateway, or of a dialect file. */
export type Provider = KnownProvider | (string & {});

/** One tool of a dialect. */
export type ToolOf<P extends Provider> = P extends KnownProvider ? Providers[P]["tool"] : ParameterSchema;

/** The list of tools of a dialect, in the provider's own wrapper. */
export type ToolsOf<P extends Provider> = P extends KnownProvider ? Providers[P]["list"] : ParameterSchema;

/** A message with results for the conversation. Without a provider it may be that of any. */
export type MessageOf<P extends Provider> = P extends KnownProvider ? Providers[P]["message"] : any;
