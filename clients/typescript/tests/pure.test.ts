// Nothing of Node is reachable from the package's main entry, so that it runs in browsers and workers.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { dirname, resolve } from "node:path";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** All files that an entry leads to, and everything that they name without a path. */
function walk(entry: string): { files: string[]; foreign: string[] } {
  const files = new Set<string>();
  const foreign: string[] = [];
  const waiting = [resolve(root, entry)];
  for (let file = waiting.pop(); file; file = waiting.pop()) {
    if (files.has(file)) continue;
    files.add(file);
    for (const [, name = ""] of readFileSync(file, "utf8").matchAll(/(?:from|import)\s*\(?\s*["']([^"']+)["']/g)) {
      if (name.startsWith(".")) waiting.push(resolve(dirname(file), name));
      else foreign.push(name);
    }
  }
  return { files: [...files], foreign };
}

describe("the main entry", () => {
  it("leads to files of its own only", () => {
    const { files, foreign } = walk("dist/index.js");
    assert.deepEqual(foreign, []);
    assert.ok(files.length >= 8);
    // The walk sees what there is to see.
    assert.ok(walk("dist/gateway.js").foreign.every(isBuiltin));
    assert.ok(walk("dist/gateway.js").foreign.length > 0);
  });

  it("bundles for browsers", async () => {
    const { outputFiles, warnings } = await build({
      entryPoints: [resolve(root, "dist/index.js")],
      bundle: true,
      write: false,
      minify: true,
      platform: "browser",
      format: "esm",
      logLevel: "silent",
    });
    assert.deepEqual(warnings, []);
    const text = outputFiles[0]?.text ?? "";
    assert.doesNotMatch(text, /\brequire\(|\bprocess\.|\bBuffer\b/);
    console.log(`the bundle has ${text.length} bytes`);
  });

  it("has no dependencies", () => {
    const manifest = JSON.parse(readFileSync(resolve(root, "package.json"), "utf8")) as Record<string, unknown>;
    assert.equal(manifest["dependencies"], undefined);
    assert.equal(manifest["peerDependencies"], undefined);
  });
});
