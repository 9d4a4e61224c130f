import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { delimiter, join } from "node:path";
import { platformPackage } from "./platform.js";

const NAME = process.platform === "win32" ? "mcp-tool-gateway.exe" : "mcp-tool-gateway";

/**
 * The gateway's program: that of the platform package, else what the variable `MCP_TOOL_GATEWAY_BIN` names, else the one on
 * the path.
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
    if (folder && existsSync(path)) return path;
  }
  throw new Error(
    `looking for the gateway's program: the package ${platformPackage()} is not installed, MCP_TOOL_GATEWAY_BIN is not set, ` +
      `and ${NAME} is not on the path; install one of them`,
  );
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
