// Options of the engine that only a compiler sees.
import { check, checkText } from "mcp-tool-gateway/engine";

export const reports = [check([], { to: ["openai"], strict: "auto" }), checkText("[]", { strict: "as-named" })];

// @ts-expect-error: a word that is none of them
check([], { strict: "vague" });
