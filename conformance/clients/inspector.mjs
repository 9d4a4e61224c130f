// The inspector's command line: a process and a connection for each request.

import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { run } from "./harness.mjs";

const PROGRAM = fileURLToPath(
  new URL("node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js", import.meta.url),
);

function ask(target, method, ...more) {
  const place = target.kind === "stdio" ? ["--config", target.file, "--server", "up"] : [target.url, "--transport", target.kind];
  const words = ["--cli", "--format", "json", "--protocol-era", target.era, ...place, "--method", method, ...more];
  return new Promise((done, fail) => {
    execFile(process.execPath, [PROGRAM, ...words], (error, said, complained) => {
      // A tool that failed gives a status as well.
      if (said.startsWith("{")) done(JSON.parse(said).result);
      else fail(new Error(`${complained || error}`));
    });
  });
}

await run(async (target, report) => {
  if (target.kind === "stdio") {
    // A command with options of its own is configured by a file.
    target.file = join(process.env.HOME, `${target.way}.json`.replaceAll(" ", "-"));
    const { command, args } = target;
    writeFileSync(target.file, JSON.stringify({ mcpServers: { up: { type: "stdio", command, args } } }));
  }
  const call = (name, args = {}) =>
    ask(target, "tools/call", "--tool-name", name, "--tool-args-json", JSON.stringify(args));
  const text = async (uri) => (await ask(target, "resources/read", "--uri", uri)).contents[0].text;
  // Nothing here depends on another, and each is a process that mostly starts.
  await Promise.all([
    report.attempt("connect", async () => {
      const { protocolVersion } = await ask(target, "initialize");
      return protocolVersion >= "2026" ? "modern" : "legacy";
    }),
    report.attempt("list", async () => (await ask(target, "tools/list")).tools.map((tool) => tool.name).sort()),
    report.attempt("call", async () => (await call("greet", { name: "Ada" })).content[0].text),
    report.attempt("tool error", async () => {
      const result = await call("test_error_handling");
      return [result.isError, result.content[0].text];
    }),
    report.attempt("content", async () => {
      return (await call("test_multiple_content_types")).content.map((block) => block.type);
    }),
    report.attempt("resources", async () => {
      const { resources } = await ask(target, "resources/list");
      const { uri } = resources.find((one) => one.name === "static-text");
      const read = await Promise.all([text(uri), text("test://template/7/data")]);
      return [resources.map((one) => one.name).sort(), ...read];
    }),
    report.attempt("prompts", async () => {
      const got = ["--prompt-name", "test_prompt_with_arguments", "--prompt-args", "arg1=a", "arg2=b"];
      const [{ prompts }, { messages }] = await Promise.all([
        ask(target, "prompts/list"),
        ask(target, "prompts/get", ...got),
      ]);
      return [prompts.map((prompt) => prompt.name).sort(), messages[0].content.text];
    }),
  ]);
});
