#!/usr/bin/env node
// Runs the gateway's program with the same arguments, and ends as it does.
import { spawn } from "node:child_process";
import { constants } from "node:os";
import { findBinary } from "../dist/binary.js";

let binary;
try {
  binary = findBinary();
} catch (error) {
  console.error(`mcp-tool-gateway: ${error.message}`);
  process.exit(2);
}
const child = spawn(binary, process.argv.slice(2), { stdio: "inherit" });
// A terminal sends these to the whole group: sent on, they would be a second signal, which stops the gateway at once.
const hasTerminal = [process.stdin, process.stdout, process.stderr].some((stream) => stream.isTTY);
const fromTerminal = hasTerminal ? ["SIGINT", "SIGQUIT"] : [];
for (const signal of ["SIGINT", "SIGQUIT", "SIGTERM", "SIGHUP"]) {
  if (!(signal in constants.signals)) continue;
  process.on(signal, () => {
    if (!fromTerminal.includes(signal)) child.kill(signal);
  });
}
child.on("error", (error) => {
  console.error(`mcp-tool-gateway: running ${binary}: ${error.message}`);
  process.exit(2);
});
child.on("exit", (code, signal) => {
  if (signal === null) process.exit(code ?? 1);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
