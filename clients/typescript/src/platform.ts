// What the packages with prebuilt files are called.
import process from "node:process";

/** The package with the program and the addon for this machine, whether it is installed or not. */
export function platformPackage(): string {
  const { platform, arch } = process;
  const name = `mcp-tool-gateway-${platform}-${arch}`;
  if (platform === "linux") return `${name}-${isMusl() ? "musl" : "gnu"}`;
  return platform === "win32" ? `${name}-msvc` : name;
}

function isMusl(): boolean {
  const report = process.report?.getReport() as { header?: { glibcVersionRuntime?: string } } | undefined;
  return report?.header !== undefined && report.header.glibcVersionRuntime === undefined;
}
