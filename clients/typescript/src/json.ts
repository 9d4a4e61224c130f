/** JSON of whatever SDKs hand out: bytes become base64, maps objects, and large integers numbers or texts. */
export function toJson(value: unknown): string {
  return JSON.stringify(value, function (this: Record<string, unknown>, key: string, shown: unknown) {
    // Of values with a `toJSON`, such as Node's `Buffer`, `shown` is what that gave.
    const held = this[key];
    if (held instanceof Uint8Array) return bytesToBase64(held);
    if (held instanceof ArrayBuffer) return bytesToBase64(new Uint8Array(held));
    if (held instanceof Map) return Object.fromEntries(held);
    if (typeof held === "bigint") return Number.isSafeInteger(Number(held)) ? Number(held) : String(held);
    return shown;
  });
}

/** Base64 of bytes. */
export function bytesToBase64(bytes: Uint8Array): string {
  const pieces: string[] = [];
  // More arguments at once do not fit onto the stack.
  for (let at = 0; at < bytes.length; at += 0x8000) {
    pieces.push(String.fromCharCode(...bytes.subarray(at, at + 0x8000)));
  }
  return btoa(pieces.join(""));
}

/** Bytes of base64. */
export function base64ToBytes(text: string): Uint8Array {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}
