import { closeSync, existsSync, openSync, readSync } from "node:fs";
import { createRequire } from "node:module";
import { delimiter, join } from "node:path";
import { platformPackage } from "./platform.js";

const NAME = process.platform === "win32" ? "mcp-tool-gateway.exe" : "mcp-tool-gateway";

/**
 * The gateway's program: that of the platform package, else what the variable `MCP_TOOL_GATEWAY_BIN` names, else the one on
 * the path that is no script.
 */
export function findBinary(): string {
  const packaged = inPackage();
  if (packaged) return packaged;
  const named = process.env["MCP_TOOL_GATEWAY_BIN"];
  if (named) {
    if (existsSync(named)) return named;
    throw new Error(`MCP_TOOL_GATEWAY_BIN names ${named}, which is not there`);
  }
  for (const folder of (process.env["PATH"] ?? "").split(delimiter)) {
    const path = join(folder, NAME);
    if (folder && existsSync(path) && !isScript(path)) return path;
  }
  throw new Error(
    `looking for the gateway's program: the package ${platformPackage()} is not installed, MCP_TOOL_GATEWAY_BIN is not set, ` +
      `and ${NAME} is not on the path; install one of them`,
  );
}

/** Whether it is a script, as are the launchers that package managers put on the path: one of them would start itself without end. */
function isScript(path: string): boolean {
  const start = Buffer.alloc(2);
  try {
    const file = openSync(path, "r");
    try {
      readSync(file, start);
    } finally {
      closeSync(file);
    }
  } catch {
    // What cannot be read may still be a program.
    return false;
  }
  return start.toString("latin1") === "#!";
}

function inPackage(): string | undefined {
  const require = createRequire(import.meta.url);
  try {
    const path = join(require.resolve(`${platformPackage()}/package.json`), "..", "bin", NAME);
    return existsSync(path) ? path : undefined;
  } catch {
    return undefined;
  }
}
