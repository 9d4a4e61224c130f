// Options of the engine that only a compiler sees.
import { check, checkText, McpToolCompatibility } from "mcp-tool-gateway/engine";

export const reports = [check([], { to: ["openai"], strict: "auto" }), checkText("[]", { strict: "as-named" })];

// @ts-expect-error: a word that is none of them
check([], { strict: "vague" });

// As the specification of the compatibility extends it.
export class NewProviderMcpCompatibility extends McpToolCompatibility {
  override shouldApply(): boolean {
    return this.modelInfo.provider === "newprovider";
  }

  protected override getUnsupportedStringProperties(): string[] {
    return ["format", "pattern"];
  }
}
