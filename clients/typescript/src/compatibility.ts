/**
 * Schemas that a model takes: constraints that its API refuses or ignores are said in descriptions instead.
 *
 * ```ts
 * const compatibility = createMcpToolCompatibility("o3-mini");
 * const schema = compatibility ? compatibility.transformToolSchema(original) : original;
 * ```
 */

import { detectModel, transform } from "./engine/index.js";

/** What is known of a model. */
export interface ModelInfo {
  provider: string;
  modelId: string;
  supportsStructuredOutputs: boolean;
  isReasoningModel: boolean;
  /** The rules of the model's family; absent where its schemas need no change. */
  layer?: string;
}

/** Anything that says which model it uses. */
export interface RuntimeLike {
  model?: unknown;
  modelId?: unknown;
  modelProvider?: unknown;
  provider?: unknown;
  getSetting?: (name: string) => unknown;
}

function text(value: unknown): string | undefined {
  return typeof value === "string" && value.trim() !== "" ? value.trim() : undefined;
}

/** Which model a runtime uses: its own members first, then those of `model`, then its settings. */
function named(model: string | RuntimeLike | null | undefined): { provider?: string; id?: string } {
  if (typeof model === "string") return { ...(text(model) && { id: model.trim() }) };
  if (typeof model !== "object" || model === null) return {};
  const inner = (typeof model.model === "object" && model.model !== null ? model.model : {}) as RuntimeLike & {
    id?: unknown;
    name?: unknown;
  };
  const setting = (name: string): string | undefined =>
    typeof model.getSetting === "function" ? text(model.getSetting(name)) : undefined;
  const provider =
    text(model.modelProvider) ?? text(model.provider) ?? text(inner.provider) ?? setting("MODEL_PROVIDER");
  const id =
    text(model.modelId) ??
    text(model.model) ??
    text(inner.modelId) ??
    text(inner.id) ??
    text(inner.name) ??
    setting("MODEL") ??
    provider;
  return { ...(provider && { provider }), ...(id && { id }) };
}

/** Whose model it is and what it can do; the provider is `unknown` if no rule knows it. */
export function detectModelProvider(model: string | RuntimeLike | null | undefined): ModelInfo {
  const { provider, id } = named(model);
  const found = detectModel(id ?? "", provider === undefined || provider === id ? {} : { provider });
  const layer = text(found["layer"]);
  return {
    ...(layer !== undefined && { layer }),
    provider: String(found["provider"]),
    modelId: String(found["modelId"]),
    supportsStructuredOutputs: found["supportsStructuredOutputs"] === true,
    isReasoningModel: found["isReasoningModel"] === true,
  };
}

/** The rules of one model's family. */
export class McpToolCompatibility {
  readonly modelInfo: ModelInfo;

  constructor(modelInfo: ModelInfo) {
    this.modelInfo = modelInfo;
  }

  /** Whether schemas are changed at all: OpenAI's models with structured outputs that do not reason take them as they are. */
  shouldApply(): boolean {
    return this.modelInfo.layer !== undefined;
  }

  /** The schema for this model. The original is never changed, and comes back where there is nothing to change or the change fails. */
  transformToolSchema<T>(schema: T): T {
    const { layer } = this.modelInfo;
    if (layer === undefined || typeof schema !== "object" || schema === null || Array.isArray(schema)) return schema;
    try {
      return (transform(schema, { to: layer }) as T | null) ?? schema;
    } catch (error) {
      console.warn(`The tool's schema stays as it is: ${error instanceof Error ? error.message : String(error)}`);
      return schema;
    }
  }
}

/** The compatibility of a model, by its id or by a runtime that says which model it uses; `null` where its schemas need no change. */
export function createMcpToolCompatibility(
  model: string | RuntimeLike | null | undefined,
): McpToolCompatibility | null {
  const compatibility = new McpToolCompatibility(detectModelProvider(model));
  return compatibility.shouldApply() ? compatibility : null;
}
