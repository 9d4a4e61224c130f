import type * as Parameters from "./generated/operations.js";
import type * as Schema from "./generated/schemas.js";
import type { RequestOptions } from "./options.js";
import type { MessageOf, Provider } from "./providers.js";
import type { MessageForm } from "./sdk.js";

/** Parameters of a method, with what every method takes. */
export type Options<P = object> = P & RequestOptions;
/** Where options are taken, the name of a server may stand alone. */
export type Target<O> = string | O | undefined;

/** Which tools, and how they are written. */
export type GetToolsOptions = Options<Parameters.GetToolsProviderParameters>;

/** Who runs a call, and how. */
export type ExecuteOptions = Options<Omit<Parameters.PostExecuteParameters, "provider">>;

/** The same, with what belongs to a reply. */
export type ReplyOptions<P extends Provider = Provider> = ExecuteOptions & {
  /** The dialect of the reply; found out from its shape where absent. */
  provider?: P;
  /** How `messages` are written. Default: as the SDK takes them that the reply came from; `wire` for its API without one. */
  form?: MessageForm;
  /** The `state` of an answer with `inputRequired`; then there is no reply. */
  continue?: string;
  /** What the servers wanted to know, by the names of their requests. */
  responses?: Schema.Responses;
};

/** What came of a reply: `messages` go to the end of the conversation, behind the reply itself. */
export type ReplyAnswer<P extends Provider = Provider> = Omit<Schema.ExecuteAnswer, "messages"> & {
  messages: Array<MessageOf<P>>;
};

/** What a tool answers, as MCP has it. `isError` says that the tool failed; the model should see it. */
export interface ToolResult {
  content: Array<{ type: string; text?: string; [member: string]: unknown }>;
  // Its shape is the tool's own.
  structuredContent?: any;
  isError?: boolean;
  [member: string]: unknown;
}

/** How a tool is called by its name. */
export type CallToolOptions = Options<Parameters.PostCallToolParameters> & {
  continue?: string;
  responses?: Schema.Responses;
};

/** Which tools a model is offered. */
export type ChatOptions = Options<Parameters.PostV1ChatCompletionsParameters>;

/** How MCP is spoken, and with which group of tools. */
export type McpOptions = Options<Parameters.PostMcpParameters> & { group?: string };

/** One chunk of a streamed answer of Chat Completions. */
export interface CompletionChunk {
  id?: string;
  object?: string;
  created?: number;
  model?: string;
  choices: Array<{
    index: number;
    delta: { role?: string; content?: string | null; [member: string]: unknown };
    finish_reason: string | null;
  }>;
  [member: string]: unknown;
}

/** One chunk of a conversation's stream. */
export interface ConversationChunk {
  conversation_id?: string;
  choices?: CompletionChunk["choices"];
  [member: string]: unknown;
}
