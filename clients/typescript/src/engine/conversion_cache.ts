// The cache of conversions: a program converts the same tools for every request that it sends.
//
// What a list gave is kept from its second conversion on, beside a copy of the list, which whatever comes later is compared with. Callers
// get copies, and never what is kept.

import type { Json } from "./index.js";

/** How many bytes of lists and of what they gave are kept, roughly. What was not used for longest makes room. */
const BYTES = 64 << 20;
/** What a value takes beside its text. */
const BYTES_OF_A_VALUE = 80;
/** How many lists are remembered that were converted once; the older half of them goes at once. */
const SEEN = 8_192;
/** Longer keys are not worth it. */
const KEY = 1_000;
/** The levels that JSON may have. */
const DEPTH = 127;

interface Conversion {
  tools: Json;
  answer: Json;
  leftOut: string | undefined;
  bytes: number;
}

/** What a list gave before, or `keep`, which takes what it gives now. */
export type Lookup = { answer: Json; leftOut: string | undefined } | { tools: Json; keep(answer: Json, leftOut: string | undefined): void };

let seen = new Set<string>();
let seenBefore = new Set<string>();
/** By their keys; what was used last comes last. */
const conversions = new Map<string, Conversion>();
let bytes = 0;

/** Looks for an earlier conversion; undefined where there is nothing to be known of it. `options` are JSON. */
export function find(tools: unknown, options: string): Lookup | undefined {
  try {
    return found(tools, options);
  } catch {
    // Code of the list's own, which throws; the conversion says what is wrong.
    return undefined;
  }
}

function found(tools: unknown, options: string): Lookup | undefined {
  const key = keyOf(tools, options);
  if (key === undefined) return undefined;
  const conversion = conversions.get(key);
  const wasSeen = seen.has(key) || seenBefore.has(key);
  if (conversion !== undefined) {
    if (isSame(conversion.tools, tools)) {
      conversions.delete(key);
      conversions.set(key, conversion);
      return { answer: copied(conversion.answer), leftOut: conversion.leftOut };
    }
    // Lists with one key that take turns are not copied every time.
    if (wasSeen) {
      seen.delete(key);
      seenBefore.delete(key);
      return undefined;
    }
  }
  if (!wasSeen) {
    if (seen.size >= SEEN / 2) [seen, seenBefore] = [new Set(), seen];
    seen.add(key);
    return undefined;
  }
  const plain = new Plain();
  const own = plain.copy(tools, 0);
  if (own === undefined) return undefined;
  return {
    tools: own,
    keep(answer, leftOut) {
      const kept = plain.copy(answer, 0);
      if (kept !== undefined) put(key, { tools: own, answer: kept, leftOut, bytes: plain.bytes });
    },
  };
}

/** What tells most lists apart at a glance: options, and how long the tools' names and descriptions are. Undefined for what is no list of named tools. */
function keyOf(tools: unknown, options: string): string | undefined {
  if (!Array.isArray(tools) || tools.length === 0) return undefined;
  let [first, lengths] = ["", 0];
  for (let index = 0; index < tools.length; index += 1) {
    const tool: unknown = tools[index];
    if (typeof tool !== "object" || tool === null || !("name" in tool) || typeof tool.name !== "string") return undefined;
    if (index === 0) first = tool.name;
    const described = "description" in tool && typeof tool.description === "string" ? tool.description.length : -1;
    lengths = (lengths * 31 + tool.name.length * 7 + described) | 0;
  }
  const key = `${String(tools.length)} ${String(lengths)} ${first} ${options}`;
  return key.length > KEY ? undefined : key;
}

function put(key: string, conversion: Conversion): void {
  evict(key);
  conversions.set(key, conversion);
  bytes += conversion.bytes;
  for (const oldest of conversions.keys()) {
    if (bytes <= BYTES) break;
    evict(oldest);
  }
}

function evict(key: string): void {
  bytes -= conversions.get(key)?.bytes ?? 0;
  conversions.delete(key);
}

/** Copies what comes from outside, and counts. */
class Plain {
  bytes = 0;

  /** A copy of what JSON holds; undefined where something else is in it, or a name that objects give a meaning to. */
  copy(given: unknown, depth: number): Json | undefined {
    this.bytes += BYTES_OF_A_VALUE;
    if (typeof given === "string") {
      this.bytes += given.length;
      return given;
    }
    if (typeof given === "boolean" || given === null) return given;
    if (typeof given === "number") return Number.isFinite(given) && !Object.is(given, -0) ? given : undefined;
    if (typeof given !== "object" || depth >= DEPTH || !isPlain(given)) return undefined;
    if (Array.isArray(given)) {
      const items: Json[] = [];
      for (let index = 0; index < given.length; index += 1) {
        const own = this.copy(given[index], depth + 1);
        if (own === undefined) return undefined;
        items.push(own);
      }
      return items;
    }
    const members: Record<string, Json> = {};
    for (const [name, value] of Object.entries(given)) {
      this.bytes += name.length;
      const own = name === "__proto__" ? undefined : this.copy(value, depth + 1);
      if (own === undefined) return undefined;
      members[name] = own;
    }
    return members;
  }
}

/** Whether an object is written by its own members only. */
function isPlain(given: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(given);
  return prototype === (Array.isArray(given) ? Array.prototype : Object.prototype) && !("toJSON" in given);
}

/** Whether `given` is written as the same JSON as `kept`. */
function isSame(kept: Json, given: unknown): boolean {
  if (typeof kept !== "object" || kept === null) return Object.is(kept, given);
  if (typeof given !== "object" || given === null || !isPlain(given)) return false;
  if (Array.isArray(kept)) {
    if (!Array.isArray(given) || given.length !== kept.length) return false;
    for (let index = 0; index < kept.length; index += 1) if (!isSame(kept[index] as Json, given[index])) return false;
    return true;
  }
  if (Array.isArray(given)) return false;
  const [names, others] = [Object.keys(kept), Object.keys(given)];
  if (names.length !== others.length) return false;
  for (let index = 0; index < names.length; index += 1) {
    const name = names[index] as string;
    if (name !== others[index] || !isSame(kept[name] as Json, (given as Record<string, unknown>)[name])) return false;
  }
  return true;
}

/** A copy of what is kept. */
function copied(kept: Json): Json {
  if (typeof kept !== "object" || kept === null) return kept;
  if (Array.isArray(kept)) return kept.map(copied);
  const copy: Record<string, Json> = {};
  for (const name of Object.keys(kept)) copy[name] = copied(kept[name] as Json);
  return copy;
}
