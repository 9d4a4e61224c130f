// Which program is run, with packages of the test's own.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, cp, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { platformPackage } from "mcp-tool-gateway/gateway";
import { atEnd } from "./harness.js";

const root = fileURLToPath(new URL("../../", import.meta.url));
const folder = await mkdtemp(join(tmpdir(), "binary-"));
atEnd(() => rm(folder, { recursive: true, force: true }));

/** The package as it is installed where the platform's package is missing; npm links its command into `node_modules/.bin`. */
async function install(name: string) {
  const modules = join(folder, name, "node_modules");
  const home = join(modules, "mcp-tool-gateway");
  await mkdir(join(modules, ".bin"), { recursive: true });
  for (const part of ["bin", "dist", "package.json"]) await cp(join(root, part), join(home, part), { recursive: true });
  await symlink("../mcp-tool-gateway/bin/mcp-tool-gateway.js", join(modules, ".bin/mcp-tool-gateway"));
  const launcher = join(home, "bin/mcp-tool-gateway.js");
  await chmod(launcher, 0o755);
  const run = async (path: string[], env: object = {}) => {
    const { MCP_TOOL_GATEWAY_BIN: _, ...environment } = process.env;
    const child = spawn(process.execPath, [launcher, "hello"], { env: { ...environment, PATH: path.join(":"), ...env }, detached: true });
    // A group of its own: a launcher that starts itself would go on when only the first of them ends.
    const timer = setTimeout(() => process.kill(-(child.pid ?? NaN), "SIGKILL"), 5000);
    let stdout = "";
    let stderr = "";
    child.stdout.on("data", (text) => (stdout += text));
    child.stderr.on("data", (text) => (stderr += text));
    const [status, signal] = (await once(child, "close")) as [number | null, string | null];
    clearTimeout(timer);
    return { status, signal, stdout, stderr };
  };
  return { modules, launcher, run };
}

async function program(path: string, mode = 0o755): Promise<string> {
  await mkdir(dirname(path), { recursive: true });
  // A copy, as what begins with `#!` is passed over.
  await cp("/bin/echo", path, { dereference: true });
  await chmod(path, mode);
  return path;
}

describe("the launcher", () => {
  it("does not start itself, where the platform's package is missing", async () => {
    const { modules, run } = await install("alone");
    // What other package managers put there, which would lead to the launcher as well.
    const scripts = join(folder, "scripts");
    await mkdir(scripts);
    await writeFile(join(scripts, "mcp-tool-gateway"), '#!/bin/sh\nexec mcp-tool-gateway "$@"\n', { mode: 0o755 });
    for (const path of [[], [join(modules, ".bin")], [scripts, join(modules, ".bin")]]) {
      const { status, signal, stdout, stderr } = await run(path);
      assert.deepEqual([status, signal, stdout], [2, null, ""], path.join(":"));
      assert.match(stderr, /^mcp-tool-gateway: looking for the gateway's program: the package mcp-tool-gateway-.* is not installed/);
    }
    // Behind them, a program is found.
    await program(join(folder, "programs/mcp-tool-gateway"));
    assert.equal((await run([scripts, join(modules, ".bin"), join(folder, "programs")])).stdout, "hello\n");
  });

  it("passes over what cannot be run, and what is no file", async () => {
    const { run } = await install("odd");
    await mkdir(join(folder, "folders/mcp-tool-gateway"), { recursive: true });
    await program(join(folder, "plain/mcp-tool-gateway"), 0o644);
    const { status, stderr } = await run([join(folder, "folders"), join(folder, "plain")]);
    assert.equal(status, 2);
    assert.match(stderr, /looking for the gateway's program/);
  });

  it("takes the variable's program before the package's, and that before the path's", async () => {
    const { modules, launcher, run } = await install("whole");
    const onPath = await program(join(folder, "onpath/mcp-tool-gateway"));
    await writeFile(onPath, "#!/bin/sh\n");
    const packaged = join(modules, platformPackage());
    await program(join(packaged, "bin/mcp-tool-gateway"));
    await writeFile(join(packaged, "package.json"), "{}");
    assert.equal((await run([dirname(onPath)])).stdout, "hello\n");
    const named = join(folder, "named");
    await writeFile(named, '#!/bin/sh\necho "named $1"\n', { mode: 0o755 });
    assert.equal((await run([], { MCP_TOOL_GATEWAY_BIN: named })).stdout, "named hello\n");
    const wrong: Array<[string, RegExp]> = [
      ["/nonexistent/gateway", /MCP_TOOL_GATEWAY_BIN names \/nonexistent\/gateway, which is not there/],
      [folder, /which is not a program that can be run/],
      [launcher, /which only starts the program: name the program itself/],
      [join(modules, ".bin/mcp-tool-gateway"), /which only starts the program: name the program itself/],
    ];
    for (const [path, text] of wrong) {
      const { status, signal, stderr } = await run([], { MCP_TOOL_GATEWAY_BIN: path });
      assert.deepEqual([status, signal], [2, null], path);
      assert.match(stderr, text);
    }
  });
});
