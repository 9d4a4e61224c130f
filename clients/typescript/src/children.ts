import type { ChildProcess } from "node:child_process";
import { rmSync } from "node:fs";

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
/** Children, and the folders that go away with them. */
const running = new Map<ChildProcess, string>();

/** Ends a child with this process, unless that is killed outright. */
export function endWithUs(child: ChildProcess, folder: string): void {
  if (running.size === 0) {
    process.on("exit", onExit);
    for (const signal of SIGNALS) process.on(signal, onSignal);
  }
  running.set(child, folder);
}

/** The child has ended. */
export function forget(child: ChildProcess): void {
  if (!running.delete(child) || running.size > 0) return;
  process.off("exit", onExit);
  for (const signal of SIGNALS) process.off(signal, onSignal);
}

function onExit(): void {
  endAll("SIGKILL");
}

/** A program that handles signals itself decides when it ends. For any other, ours must not be what keeps it from ending. */
function onSignal(signal: NodeJS.Signals): void {
  if (process.listenerCount(signal) > 1) return;
  endAll("SIGTERM");
  process.off(signal, onSignal);
  process.kill(process.pid, signal);
}

function endAll(signal: NodeJS.Signals): void {
  for (const [child, folder] of running) {
    child.kill(signal);
    try {
      rmSync(folder, { recursive: true, force: true });
    } catch {
      // The child may still write there, and nobody is left to wait for it.
    }
  }
}
