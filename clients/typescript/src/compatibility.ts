/**
 * Schemas that a model takes: constraints that its API refuses or ignores are said in descriptions instead.
 *
 * ```ts
 * const compatibility = createMcpToolCompatibility("o3-mini");
 * const schema = compatibility ? compatibility.transformToolSchema(original) : original;
 * ```
 */

import { detectModel, transform } from "./engine/index.js";
import { isObject } from "./errors.js";

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

// Keywords with schemas in them: one, a list, or one for each name.
const SCHEMA = ["items", "additionalProperties", "not"];
const SCHEMAS = ["anyOf", "oneOf", "allOf", "prefixItems"];
const NAMED_SCHEMAS = ["properties", "patternProperties", "$defs", "definitions"];

/** The schema with the keywords of each type as JSON in its description. */
function withDescribed(schema: unknown, unsupported: Readonly<Record<string, readonly string[]>>): unknown {
  if (!isObject(schema)) return schema;
  const deeper = (inner: unknown): unknown => withDescribed(inner, unsupported);
  const keywords = [schema["type"]].flat().flatMap((type) => unsupported[String(type)] ?? []);
  const described = Object.entries(schema).filter(([name]) => keywords.includes(name));
  const kept = Object.entries(schema)
    .filter(([name]) => !keywords.includes(name))
    .map(([name, value]): [string, unknown] => {
      if (SCHEMA.includes(name)) return [name, deeper(value)];
      if (SCHEMAS.includes(name) && Array.isArray(value)) return [name, value.map(deeper)];
      if (!NAMED_SCHEMAS.includes(name) || !isObject(value)) return [name, value];
      return [name, Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, deeper(inner)]))];
    });
  if (described.length === 0) return Object.fromEntries(kept);
  const description = [schema["description"], JSON.stringify(Object.fromEntries(described))].filter(Boolean).join("\n");
  return { ...Object.fromEntries(kept), description };
}

/**
 * The rules of one model's family. For a model that no rule knows, extend it: `shouldApply` says for which models, and the lists which
 * keywords become words in descriptions, as JSON. Where the model has a `layer`, the rules of that come first.
 */
export class McpToolCompatibility {
  readonly modelInfo: ModelInfo;

  constructor(modelInfo: ModelInfo) {
    this.modelInfo = modelInfo;
  }

  /** Whether schemas are changed at all: OpenAI's models with structured outputs that do not reason take them as they are. */
  shouldApply(): boolean {
    return this.modelInfo.layer !== undefined;
  }

  /** Keywords of texts that the model's API does not take, beside those that its family's rules know. */
  protected getUnsupportedStringProperties(): readonly string[] {
    return [];
  }

  /** The same of numbers and integers. */
  protected getUnsupportedNumberProperties(): readonly string[] {
    return [];
  }

  /** The same of lists. */
  protected getUnsupportedArrayProperties(): readonly string[] {
    return [];
  }

  /** The same of objects. */
  protected getUnsupportedObjectProperties(): readonly string[] {
    return [];
  }

  /** The schema for this model. The original is never changed, and comes back where there is nothing to change or the change fails. */
  transformToolSchema<T>(schema: T): T {
    const { layer } = this.modelInfo;
    if (!isObject(schema) || !this.shouldApply()) return schema;
    try {
      const changed = layer === undefined ? schema : (transform(schema, { to: layer }) ?? schema);
      const [text, number] = [this.getUnsupportedStringProperties(), this.getUnsupportedNumberProperties()];
      const [array, object] = [this.getUnsupportedArrayProperties(), this.getUnsupportedObjectProperties()];
      if ([text, number, array, object].every((keywords) => keywords.length === 0)) return changed as T;
      return withDescribed(changed, { string: text, number, integer: number, array, object }) as T;
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
