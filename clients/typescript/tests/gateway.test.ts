// The gateway as a child of a program, and the command of the package.
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, cp, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { Gateway, platformPackage } from "mcp-tool-gateway/gateway";
import { atEnd, given, until } from "./harness.js";

const binary = given("GATEWAY_BIN");
const launcher = fileURLToPath(new URL("../../bin/mcp-tool-gateway.js", import.meta.url));
const folder = await mkdtemp(join(tmpdir(), "launcher-"));
atEnd(() => rm(folder, { recursive: true, force: true }));

function isRunning(pid: number | undefined): boolean {
  try {
    return process.kill(pid ?? 0, 0);
  } catch {
    return false;
  }
}

describe("Gateway.start", () => {
  it("starts a gateway on a free port, and ends it with its block", async () => {
    let pid: number | undefined;
    {
      await using gateway = await Gateway.start(undefined, { binary });
      await using other = await Gateway.start({ mcpServers: { mine: { type: "builtin" } } }, { binary });
      pid = gateway.pid;
      assert.notEqual(gateway.url, other.url);
      assert.match(JSON.stringify(await gateway.client.callTool("demo", "add", { a: 1, b: 2 })), /"result":3\b/);
      assert.deepEqual((await other.client.servers()).servers.map((server) => server.name), ["mine"]);
      assert.ok(isRunning(pid));
      await gateway.close();
      assert.ok(!isRunning(pid));
    }
    assert.ok(!isRunning(pid));
  });

  it("leaves no files behind", async () => {
    const left = async () => (await readdir(tmpdir())).filter((name) => name.startsWith("mcp-tool-gateway-"));
    const before = new Set(await left());
    const gateway = await Gateway.start(undefined, { binary });
    const made = (await left()).filter((name) => !before.has(name));
    assert.ok(made.length >= 1);
    await gateway.close();
    await assert.rejects(Gateway.start({ mcpServers: 1 }, { binary }));
    const still = new Set(await left());
    assert.ok(made.some((name) => !still.has(name)));
  });

  it("keeps data where the configuration says, and only then leaves them there", async () => {
    const servers = '"mcpServers": {"demo": {"type": "builtin"}}';
    const texts: Record<string, (data: string) => string> = {
      "named.json": (data) => `{${servers}, "dataDirectory": ${JSON.stringify(data)}}`,
      "named.jsonc.json": (data) => `{\n  // mine\n  ${servers},\n  "dataDirectory" : ${JSON.stringify(data)},\n}`,
      "commented.json": (data) => `{\n  // "dataDirectory": ${JSON.stringify(data)},\n  ${servers}\n}`,
    };
    for (const [name, text] of Object.entries(texts)) {
      const config = join(folder, name);
      const data = join(folder, `${name}-data`);
      await writeFile(config, text(data));
      const gateway = await Gateway.start(config, { binary });
      await gateway.client.callTool("demo", "add", { a: 1, b: 2 });
      await gateway.close();
      const kept: string[] = await readdir(data).catch(() => []);
      assert.equal(kept.includes("calls.db"), name.startsWith("named"), name);
    }
  });

  it("says what is wrong where nothing starts", async () => {
    await assert.rejects(Gateway.start(undefined, { binary: "/nonexistent/gateway" }), /starting \/nonexistent\/gateway: it cannot be run: .*ENOENT/);
    await assert.rejects(Gateway.start({ mcpServers: {}, listen: 12 }, { binary }), /it ended with status 2; it said: .*listen/s);
    await assert.rejects(Gateway.start(undefined, { binary, signal: AbortSignal.abort(new Error("no")) }), { message: "no" });
    const silent = join(folder, "silent");
    await writeFile(silent, "#!/bin/sh\nexec sleep 60\n");
    await chmod(silent, 0o755);
    await assert.rejects(Gateway.start(undefined, { binary: silent, startTimeoutMs: 50 }), /it does not listen after 50ms/);
  });

  /** A program with a gateway: its process, and the gateway's. */
  async function startForgetful(more: string): Promise<{ child: ChildProcess; pid: number; folders: string }> {
    // What it leaves behind would be here.
    const folders = await mkdtemp(join(folder, "tmp-"));
    const program = `
      import { Gateway } from "mcp-tool-gateway/gateway";
      const gateway = await Gateway.start(undefined, { binary: process.env.GATEWAY_BIN });
      const other = await Gateway.start(undefined, { binary: process.env.GATEWAY_BIN });
      await other.close();
      ${more}
      console.log(gateway.pid);
    `;
    const args = ["--input-type=module", "-e", program];
    const child = spawn(process.execPath, args, {
      cwd: dirname(dirname(launcher)),
      stdio: ["ignore", "pipe", "inherit"],
      env: { ...process.env, TMPDIR: folders },
    });
    const [output] = (await once(child.stdout, "data")) as [Buffer];
    return { child, pid: Number(output), folders };
  }

  it("lets a program end that forgot it, and then ends too", async () => {
    const { child, pid, folders } = await startForgetful("");
    assert.deepEqual(await once(child, "exit"), [0, null]);
    await until(() => (isRunning(pid) ? undefined : true));
    assert.deepEqual(await readdir(folders), []);
  });

  it("ends with a program that is ended by a signal", async () => {
    for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) {
      const { child, pid } = await startForgetful("setInterval(() => {}, 1000);");
      child.kill(signal);
      assert.deepEqual(await once(child, "exit"), [null, signal]);
      await until(() => (isRunning(pid) ? undefined : true));
    }
    const { child, pid } = await startForgetful('process.on("SIGTERM", () => process.exit(7)); setInterval(() => {}, 1000);');
    child.kill("SIGTERM");
    assert.deepEqual(await once(child, "exit"), [7, null]);
    await until(() => (isRunning(pid) ? undefined : true));
  });
});

describe("the program", () => {
  it("is the variable's, else that of the platform package, else the path's", async () => {
    // In a folder of its own: other tests run at the same time, and must not find what is made here.
    const home = join(folder, "installed");
    await cp(join(dirname(dirname(launcher)), "dist"), join(home, "dist"), { recursive: true });
    await writeFile(join(home, "package.json"), '{"type": "module"}');
    const { findBinary } = (await import(join(home, "dist/binary.js"))) as { findBinary: () => string };
    assert.match(platformPackage(), /^mcp-tool-gateway-[a-z0-9]+-[a-z0-9]+(-gnu|-musl|-msvc)?$/);
    const { MCP_TOOL_GATEWAY_BIN: named, PATH: path } = process.env;
    try {
      await symlink(binary, join(folder, "mcp-tool-gateway"));
      delete process.env["MCP_TOOL_GATEWAY_BIN"];
      // The package's own launcher, which npm and npx put on the path.
      const shims = join(home, "shims");
      await mkdir(shims);
      await symlink(launcher, join(shims, "mcp-tool-gateway"));
      process.env["PATH"] = shims;
      assert.throws(findBinary, /looking for the gateway's program/);
      process.env["PATH"] = ["/nonexistent", shims, folder].join(delimiter);
      assert.equal(findBinary(), join(folder, "mcp-tool-gateway"));
      process.env["MCP_TOOL_GATEWAY_BIN"] = binary;
      assert.equal(findBinary(), binary);
      process.env["MCP_TOOL_GATEWAY_BIN"] = "/nonexistent/gateway";
      assert.throws(findBinary, /MCP_TOOL_GATEWAY_BIN names \/nonexistent\/gateway, which is not there/);
      delete process.env["MCP_TOOL_GATEWAY_BIN"];
      process.env["PATH"] = "/nonexistent";
      assert.throws(findBinary, /looking for the gateway's program: the package mcp-tool-gateway-.* is not installed/);
      const packaged = join(home, "node_modules", platformPackage());
      await mkdir(join(packaged, "bin"), { recursive: true });
      await writeFile(join(packaged, "package.json"), "{}");
      await writeFile(join(packaged, "bin/mcp-tool-gateway"), "");
      await chmod(join(packaged, "bin/mcp-tool-gateway"), 0o755);
      assert.equal(findBinary(), join(packaged, "bin/mcp-tool-gateway"));
      process.env["MCP_TOOL_GATEWAY_BIN"] = binary;
      assert.equal(findBinary(), binary);
    } finally {
      process.env["PATH"] = path;
      if (named !== undefined) process.env["MCP_TOOL_GATEWAY_BIN"] = named;
      else delete process.env["MCP_TOOL_GATEWAY_BIN"];
    }
  });
});

describe("the command", () => {
  /** Runs the package's command with another program than the gateway, or with the gateway. */
  function launch(args: string[], program = binary): ChildProcess {
    const env = { ...process.env, MCP_TOOL_GATEWAY_BIN: program };
    return spawn(process.execPath, [launcher, ...args], { env, stdio: ["pipe", "pipe", "pipe"] });
  }

  async function outputOf(child: ChildProcess): Promise<{ output: string; errors: string; status: [number | null, string | null] }> {
    let output = "";
    let errors = "";
    child.stdout?.on("data", (text) => (output += text));
    child.stderr?.on("data", (text) => (errors += text));
    const status = (await once(child, "close")) as [number | null, string | null];
    return { output, errors, status };
  }

  it("passes arguments, input and the exit status on", async () => {
    const version = await outputOf(launch(["--version"]));
    assert.match(version.output, /^mcp-tool-gateway \d+\.\d+\.\d+/);
    assert.deepEqual(version.status, [0, null]);
    assert.deepEqual((await outputOf(launch(["no-such-command"]))).status, [2, null]);
    const child = launch(["convert", "--to", "gemini"]);
    child.stdin?.end('[{"name": "add", "inputSchema": {"type": "object", "properties": {"a": {"type": "number"}}}}]');
    const converted = await outputOf(child);
    assert.match(converted.output, /"name":"add"/);
    assert.deepEqual(converted.status, [0, null]);
    const missing = await outputOf(launch(["serve"], "/nonexistent/gateway"));
    assert.match(missing.errors, /MCP_TOOL_GATEWAY_BIN names \/nonexistent\/gateway, which is not there/);
    assert.deepEqual(missing.status, [2, null]);
  });

  it("passes signals on, and ends as its program does", async () => {
    for (const signal of ["SIGTERM", "SIGINT"] as const) {
      const child = launch(["serve", "--port", "0", "--data", join(folder, signal)]);
      const [line] = (await once(child.stdout!, "data")) as [Buffer];
      assert.match(String(line), /listening on/);
      const pid = child.pid;
      child.kill(signal);
      assert.deepEqual((await outputOf(child)).status, [0, null], signal);
      assert.ok(!isRunning(pid));
    }
    const dying = join(folder, "dying");
    await writeFile(dying, "#!/bin/sh\nkill -KILL $$\n");
    await chmod(dying, 0o755);
    assert.deepEqual((await outputOf(launch([], dying))).status, [null, "SIGKILL"]);
  });
});
