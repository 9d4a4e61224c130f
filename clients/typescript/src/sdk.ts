// What SDKs of providers hand out and take, where it is not what travels. The SDKs of Mistral and Cohere write members in
// camel case; that of AWS has bytes where JSON has base64. The others keep the names of their APIs.
import { isObject } from "./errors.js";
import { base64ToBytes } from "./json.js";

/** How messages for a conversation are written: as the provider's SDK for JavaScript takes them, or as its API does. */
export type MessageForm = "sdk" | "wire";

type Members = Record<string, unknown>;

const TO_WIRE: Record<string, string> = {
  toolCalls: "tool_calls",
  toolCallId: "tool_call_id",
  toolPlan: "tool_plan",
  finishReason: "finish_reason",
};

/** A reply, or one chunk of a streamed one, as its API would have sent it; and whether it came in camel case. */
export function toWire(given: unknown): { value: unknown; isCamelCase: boolean } {
  if (Array.isArray(given)) {
    const parts = given.map(toWire);
    return { value: parts.map((part) => part.value), isCamelCase: parts.some((part) => part.isCamelCase) };
  }
  if (!isObject(given)) return { value: given, isCamelCase: false };
  // Mistral's SDK wraps each chunk. Google's has a getter of that name, which warns of what it leaves out.
  if (Object.hasOwn(given, "data") && isObject(given["data"]) && Array.isArray(given["data"]["choices"])) return toWire(given["data"]);
  const state = { isCamelCase: false };
  let value = given;
  if (Array.isArray(given["choices"])) {
    const choices = given["choices"].map((choice) => inMembers(renamed(choice, state), ["message", "delta"], state));
    value = { ...given, choices };
  } else if (isObject(given["message"]) || isObject(given["delta"])) {
    const delta = inMembers(renamed(given["delta"], state), ["message"], state);
    value = inMembers({ ...given, ...(isObject(delta) ? { delta } : {}) }, ["message"], state) as Members;
    // Other families write `finishReason` themselves; theirs has no message.
    value = renamed(value, state) as Members;
  } else if (given["role"] === "assistant") {
    value = renamed(given, state) as Members;
  }
  if (state.isCamelCase && isObject(value["usage"])) value = { ...value, usage: snakeCase(value["usage"]) };
  return { value, isCamelCase: state.isCamelCase };
}

function inMembers(value: unknown, names: string[], state: { isCamelCase: boolean }): unknown {
  if (!isObject(value)) return value;
  const changed = names.filter((name) => isObject(value[name])).map((name) => [name, renamed(value[name], state)]);
  return { ...value, ...Object.fromEntries(changed) };
}

function renamed(value: unknown, state: { isCamelCase: boolean }): unknown {
  if (!isObject(value)) return value;
  const entries = Object.entries(value).map(([name, member]): [string, unknown] => {
    const wire = TO_WIRE[name];
    if (wire === undefined || !Object.hasOwn(TO_WIRE, name)) return [name, member];
    state.isCamelCase = true;
    return [wire, member];
  });
  return Object.fromEntries(entries);
}

function snakeCase(value: unknown): unknown {
  if (!isObject(value)) return value;
  const snake = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [snake(name), snakeCase(member)]));
}

/** Messages of the gateway as the provider's SDK takes them. */
export function messagesForSdk(messages: unknown[], provider: string): unknown[] {
  if (provider === "bedrock") return messages.map(withBytes);
  if (provider === "mistral" || provider === "cohere") return messages.map(inCamelCase);
  return messages;
}

/** Whether the provider's SDK writes its members in camel case, although its API does not. */
export function isCamelCaseSdk(provider: string): boolean {
  return provider === "mistral" || provider === "cohere";
}

function inCamelCase(message: unknown): unknown {
  if (!isObject(message)) return message;
  const back = Object.fromEntries(Object.entries(TO_WIRE).map(([camel, wire]) => [wire, camel]));
  const entries = Object.entries(message).map(([name, member]): [string, unknown] => {
    if (name === "content" && Array.isArray(member)) return [name, member.map(blockInCamelCase)];
    return [Object.hasOwn(back, name) ? (back[name] as string) : name, member];
  });
  return Object.fromEntries(entries);
}

function blockInCamelCase(block: unknown): unknown {
  if (!isObject(block)) return block;
  const camel = (name: string) => name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
  return Object.fromEntries(Object.entries(block).map(([name, member]) => [camel(name), member]));
}

function withBytes(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withBytes);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]): [string, unknown] => {
      // What a tool said and what it was asked are JSON of their own.
      if (name === "json" || name === "input") return [name, member];
      if (name === "source" && isObject(member) && typeof member["bytes"] === "string") {
        return [name, { ...member, bytes: base64ToBytes(member["bytes"]) }];
      }
      return [name, withBytes(member)];
    }),
  );
}
