import { accessSync, closeSync, constants, openSync, readSync, realpathSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { platformPackage } from "./platform.js";

const NAME = process.platform === "win32" ? "mcp-tool-gateway.exe" : "mcp-tool-gateway";
const LAUNCHER = fileURLToPath(new URL("../bin/mcp-tool-gateway.js", import.meta.url));

/**
 * The gateway's program: what the variable `MCP_TOOL_GATEWAY_BIN` names, else that of the platform package, else the one on
 * the path.
 */
export function findBinary(): string {
  const named = process.env["MCP_TOOL_GATEWAY_BIN"];
  if (named) return checked(named);
  const packaged = inPackage();
  if (packaged) return packaged;
  for (const folder of (process.env["PATH"] ?? "").split(delimiter)) {
    const path = join(folder, NAME);
    // npm puts a link to our own launcher on the path, and other package managers a script that starts it: it would start
    // itself without end.
    if (folder && isProgram(path) && !isLauncher(path) && !isScript(path)) return path;
  }
  throw new Error(
    `looking for the gateway's program: the package ${platformPackage()} is not installed, MCP_TOOL_GATEWAY_BIN is not set, ` +
      `and ${NAME} is not on the path; install one of them`,
  );
}

function checked(named: string): string {
  if (!statSync(named, { throwIfNoEntry: false })) throw new Error(`MCP_TOOL_GATEWAY_BIN names ${named}, which is not there`);
  if (!isProgram(named)) throw new Error(`MCP_TOOL_GATEWAY_BIN names ${named}, which is not a program that can be run`);
  if (isLauncher(named)) throw new Error(`MCP_TOOL_GATEWAY_BIN names ${named}, which only starts the program: name the program itself`);
  return named;
}

function inPackage(): string | undefined {
  const require = createRequire(import.meta.url);
  try {
    const path = join(require.resolve(`${platformPackage()}/package.json`), "..", "bin", NAME);
    return isProgram(path) ? path : undefined;
  } catch {
    return undefined;
  }
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

function isLauncher(path: string): boolean {
  try {
    return realpathSync(path) === realpathSync(LAUNCHER);
  } catch {
    return false;
  }
}

function isScript(path: string): boolean {
  const begin = Buffer.alloc(2);
  try {
    const file = openSync(path, "r");
    try {
      readSync(file, begin, 0, 2, 0);
    } finally {
      closeSync(file);
    }
  } catch {
    // A program may be run by those who cannot read it.
  }
  return begin.toString("latin1") === "#!";
}
