"""Builds what is shipped; see scripts/package, which starts it with its tools."""

import argparse
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import zipfile

from platforms import MAIN, PLATFORMS, optional_dependencies, text_of
from versions import differences, workspace_version

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve()
PYTHON, NODE = ROOT / "clients/python", ROOT / "clients/typescript"
# Where cargo puts what it builds for this machine itself.
FOLDERS = {"dev": "debug", "release": "release"}


class Build:
    """One run: the profile, who compiles C and links, and where everything goes."""

    def __init__(self, arguments):
        self.profile = arguments.profile
        self.gateway = arguments.gateway and pathlib.Path(arguments.gateway).resolve(strict=True)
        self.zig = arguments.native_tools == "zig"
        self.out = pathlib.Path(arguments.out).resolve()
        self.scratch = TARGET / "packaging"
        self.name, self.platform = find_platform()
        # What is shipped is built apart from what is developed: other flags would have cargo build all of that anew.
        self.apart = self.zig or self.profile == "dist"
        self.built = TARGET / self.platform.target / self.profile if self.apart else TARGET / FOLDERS[self.profile]
        if self.apart and self.profile == "dev":
            self.built = self.built.with_name("debug")
        self.environment = {
            **os.environ,
            "CARGO_TARGET_DIR": str(TARGET),
            "SOURCE_DATE_EPOCH": os.environ.get("SOURCE_DATE_EPOCH") or last_change(),
        }
        if self.apart:
            self.environment["RUSTFLAGS"] = without_paths()

    def cargo(self, *packages):
        command = ["cargo", "zigbuild" if self.zig else "build", "--locked", "--profile", self.profile]
        if self.apart:
            libc = self.platform.wheel.removeprefix("manylinux_").replace("_", ".")
            command += ["--target", self.platform.target + (f".{libc}" if self.zig and self.platform.os == "linux" else "")]
        self.run([*command, *(word for package in packages for word in ("--package", package))])

    def run(self, command, folder=ROOT, **more):
        print("+", *command, flush=True)
        return subprocess.run(command, cwd=folder, env=self.environment, check=True, **more)

    def programs(self):
        """The gateway and Node's engine. Quick profiles take a gateway that is there; apart from each other, as more features of shared
        crates would have all of them compiled once more."""
        program = self.gateway or self.built / self.platform.program
        if not self.gateway and (self.profile == "dist" or not program.exists()):
            self.cargo("mcp-tool-gateway")
        self.cargo("gateway-node")
        addon = self.built / self.platform.library
        return stripped(program, self.scratch / self.platform.program, "all"), stripped(addon, self.scratch / "engine.node", "unneeded")

    def wheel(self, program):
        options = ["--profile", self.profile, "--locked", "--strip"]
        if self.apart:
            options += ["--target", self.platform.target]
        if self.zig:
            options += ["--zig"]
        options += ["--compatibility", self.platform.wheel if self.zig else "linux"]
        self.environment |= {"MCP_TOOL_GATEWAY_BUNDLE": str(program), "MATURIN_PEP517_ARGS": " ".join(options)}
        if self.zig:
            # Maturin and cargo-zigbuild link by wrappers of their own: in one folder each would compile anew what the other has compiled.
            self.environment["CARGO_TARGET_DIR"] = str(self.scratch / "wheel")
        self.backend("build_wheel")
        names = [name for wheel in self.out.glob("*.whl") for name in zipfile.ZipFile(wheel).namelist()]
        if not any(name.endswith(f".data/scripts/{self.platform.program}") for name in names):
            sys.exit(f"scripts/package: the wheel has no {self.platform.program}, only {', '.join(names)}")

    def backend(self, hook):
        """Runs a hook of the package's own build backend, as pip does."""
        code = "import sys; sys.path.insert(0, 'backend'); import mcp_tool_gateway_build as build; getattr(build, sys.argv[1])(sys.argv[2])"
        self.run([sys.executable, "-c", code, hook, str(self.out)], PYTHON)

    def npm(self, program, library):
        version = workspace_version(ROOT)
        package = fresh(self.scratch / "npm" / self.name)
        (package / "bin").mkdir()
        shutil.copy(library, package / "engine.node")
        shutil.copy(program, package / "bin" / self.platform.program)
        shutil.copy(ROOT / "LICENSE", package)
        (package / "package.json").write_text(text_of(self.platform.manifest(self.name, version)))
        self.pack(package)
        self.pack(self.main_package(version))

    def main_package(self, version):
        """What npm would pack of the client, with the engine's packages as its optional dependencies."""
        quiet = ["--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock", "--silent"]
        self.run(["npm", "install", *quiet], NODE)
        self.run(["npm", "run", "--silent", "build"], NODE)
        listing = self.run(["npm", "pack", "--dry-run", "--json", "--ignore-scripts"], NODE, stdout=subprocess.PIPE, text=True)
        package = fresh(self.scratch / "npm/main")
        for entry in json.loads(listing.stdout)[0]["files"]:
            (package / entry["path"]).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(NODE / entry["path"], package / entry["path"])
        shutil.copy(ROOT / "LICENSE", package)
        manifest = json.loads((NODE / "package.json").read_text())
        for unneeded in ("scripts", "devDependencies", "private"):
            manifest.pop(unneeded, None)
        manifest["optionalDependencies"] = optional_dependencies(version)
        (package / "package.json").write_text(text_of(manifest))
        return package

    def pack(self, package):
        self.run(["npm", "pack", "--silent", "--ignore-scripts", "--pack-destination", str(self.out)], package)


def find_platform():
    """What this machine's compiler builds for."""
    said = subprocess.run(["rustc", "--version", "--verbose"], stdout=subprocess.PIPE, check=True, text=True).stdout
    host = next(line.removeprefix("host: ") for line in said.splitlines() if line.startswith("host: "))
    for name, platform in PLATFORMS.items():
        if platform.target == host:
            return name, platform
    sys.exit(f"scripts/package: no packages are made for {host}: add it to scripts/packaging/platforms.py")


def last_change():
    """When the sources changed last, which is the time of all files in the packages."""
    shown = subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    return shown.stdout.strip() or "315532800"


def without_paths():
    """Flags so that programs do not name the folders that they were built in."""
    cargo = os.environ.get("CARGO_HOME", pathlib.Path.home() / ".cargo")
    flags = [f"--remap-path-prefix={cargo}=cargo", f"--remap-path-prefix={ROOT}=."]
    return " ".join([*flags, *os.environ.get("RUSTFLAGS", "").split()])


def stripped(path, copy, symbols):
    """A copy without symbols; where the machine has no `strip`, as it is."""
    copy.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(path, copy)
    if shutil.which("strip"):
        subprocess.run(["strip", f"--strip-{symbols}", str(copy)], check=True)
    return copy


def fresh(folder):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def print_files(folder):
    rows = [("file", "bytes", "sha256")]
    for path in sorted(folder.iterdir()):
        rows.append((path.name, f"{path.stat().st_size:,}", hashlib.sha256(path.read_bytes()).hexdigest()))
    widths = [max(map(len, column)) for column in zip(*rows)]
    for name, size, digest in rows:
        print(f"{name:<{widths[0]}}  {size:>{widths[1]}}  {digest}")


def main():
    parser = argparse.ArgumentParser(prog="scripts/package", description=__doc__)
    parser.add_argument("--profile", choices=["dist", "release", "dev"], default="dist")
    parser.add_argument("--native-tools", choices=["zig", "none"], help="who links; zig for dist, else this machine's compiler")
    parser.add_argument("--gateway", help="a gateway that is built already, for the same system as the packages")
    parser.add_argument("--out", default=TARGET / "packages")
    parser.add_argument("--check-versions", action="store_true", help="build nothing")
    arguments = parser.parse_args()
    if wrong := differences(ROOT):
        sys.exit(f"scripts/package: not version {workspace_version(ROOT)} of Cargo.toml:\n" + "\n".join(wrong))
    if arguments.check_versions:
        print(f"all versions are {workspace_version(ROOT)}")
        return
    arguments.native_tools = arguments.native_tools or ("zig" if arguments.profile == "dist" else "none")
    build = Build(arguments)
    fresh(build.out)
    try:
        program, library = build.programs()
        build.backend("build_sdist")
        build.wheel(program)
        build.npm(program, library)
    except subprocess.CalledProcessError as problem:
        sys.exit(f"scripts/package: `{' '.join(map(str, problem.cmd))}` ended with {problem.returncode}")
    shutil.copy(program, build.out / f"{MAIN}-{workspace_version(ROOT)}-{build.platform.target}{program.suffix}")
    print_files(build.out)


if __name__ == "__main__":
    main()
