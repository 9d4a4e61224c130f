import type { ChildProcess } from "node:child_process";

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
const running = new Set<ChildProcess>();

/** Ends a child with this process, unless that is killed outright. */
export function endWithUs(child: ChildProcess): void {
  if (running.size === 0) {
    process.on("exit", onExit);
    for (const signal of SIGNALS) process.on(signal, onSignal);
  }
  running.add(child);
}

/** The child has ended. */
export function forget(child: ChildProcess): void {
  if (!running.delete(child) || running.size > 0) return;
  process.off("exit", onExit);
  for (const signal of SIGNALS) process.off(signal, onSignal);
}

function onExit(): void {
  for (const child of running) child.kill("SIGKILL");
}

/** A program that handles signals itself decides when it ends. For any other, ours must not be what keeps it from ending. */
function onSignal(signal: NodeJS.Signals): void {
  if (process.listenerCount(signal) > 1) return;
  for (const child of running) child.kill("SIGTERM");
  process.off(signal, onSignal);
  process.kill(process.pid, signal);
}
