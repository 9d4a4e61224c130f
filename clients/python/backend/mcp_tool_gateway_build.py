"""Builds the Python package: maturin compiles the engine's module, and the gateway's program goes into the wheel beside it.

`MCP_TOOL_GATEWAY_BUNDLE` names a gateway that is there already, or is `none`: then the wheel has no command `mcp-tool-gateway`, and
`Gateway.start` takes one from `PATH`. Without it cargo builds the gateway, which takes a C compiler and some minutes.
"""

import contextlib
import gzip
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

import maturin

VARIABLE = "MCP_TOOL_GATEWAY_BUNDLE"
COMMAND = "mcp-tool-gateway"
PROJECT = pathlib.PurePosixPath("clients/python")
# Where maturin looks for what a wheel installs beside modules.
DATA = "mcp_tool_gateway._engine.data"
# Of a workspace's members, what no build needs.
LEFT_OUT = re.compile(r"(^|/)(tests|target|node_modules|__pycache__|\.venv)/|\.pyc$")


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    folder = os.path.abspath(wheel_directory)
    metadata = metadata_directory and os.path.abspath(metadata_directory)
    with inside_project() as root, in_place(root, find_program(root)):
        return maturin.build_wheel(folder, with_arguments(config_settings), metadata)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    """Without the gateway: whoever works on the package has one that cargo built."""
    folder = os.path.abspath(wheel_directory)
    metadata = metadata_directory and os.path.abspath(metadata_directory)
    with inside_project():
        return maturin.build_editable(folder, config_settings, metadata)


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    folder = os.path.abspath(metadata_directory)
    with inside_project():
        return maturin.prepare_metadata_for_build_wheel(folder, config_settings)


prepare_metadata_for_build_editable = prepare_metadata_for_build_wheel


# Maturin would have a whole Rust downloaded where there is none; whoever builds from source decides that.
def get_requires_for_build_wheel(config_settings=None):
    return []


get_requires_for_build_editable = get_requires_for_build_wheel
get_requires_for_build_sdist = get_requires_for_build_wheel


def build_sdist(sdist_directory, config_settings=None):
    """The workspace without its tests: the gateway is built from the same sources as the module."""
    folder = os.path.abspath(sdist_directory)
    with inside_project() as root, tempfile.TemporaryDirectory() as scratch:
        metadata = pathlib.Path(scratch, maturin.prepare_metadata_for_build_wheel(scratch), "METADATA").read_bytes()
        version = re.search(rb"^Version: (.+)$", metadata, re.MULTILINE)[1].decode().strip()
        name = f"mcp_tool_gateway-{version}"
        files = {path: root.joinpath(path).read_bytes() for path in sources(root)}
        pyproject = files[str(PROJECT / "pyproject.toml")].decode()
        files["pyproject.toml"] = pyproject.replace('["backend"]', f'["{PROJECT}/backend"]').encode()
        files["PKG-INFO"] = metadata
        if str(PROJECT / "README.md") in files:
            files["README.md"] = files[str(PROJECT / "README.md")]
        write_archive(pathlib.Path(folder, f"{name}.tar.gz"), {f"{name}/{path}": files[path] for path in sorted(files)})
    return f"{name}.tar.gz"


@contextlib.contextmanager
def inside_project():
    """Works in the folder of pyproject.toml, and gives the workspace's: in a source distribution the current one, else two above."""
    before = pathlib.Path.cwd()
    root = before if before.joinpath(PROJECT, "pyproject.toml").exists() else before.parent.parent
    os.chdir(root / PROJECT)
    try:
        yield root
    finally:
        os.chdir(before)


@contextlib.contextmanager
def in_place(root, program):
    """Puts the licence and the program where maturin looks for them."""
    licence, data = pathlib.Path("LICENSE"), pathlib.Path(DATA)
    try:
        shutil.copy(root / "LICENSE", licence)
        if program is not None:
            copy = data / "scripts" / (COMMAND + program.suffix)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(program, copy)
            copy.chmod(0o755)
        yield
    finally:
        licence.unlink(missing_ok=True)
        shutil.rmtree(data, ignore_errors=True)


def find_program(root):
    given = os.environ.get(VARIABLE)
    if given == "none":
        return None
    if not given:
        return build_program(root)
    program = pathlib.Path(given)
    if not program.is_file():
        sys.exit(f"{VARIABLE} names {given}, which is not a file: give the path of a gateway's program, or none to leave it out")
    return program


def build_program(root):
    if not shutil.which("cargo"):
        sys.exit("building mcp-tool-gateway from source needs Rust 1.95 or newer, but there is no cargo on PATH")
    command = ["cargo", "build", "--locked", "--profile", "release", "--package", "mcp-tool-gateway", "--bin", COMMAND]
    built = subprocess.run([*command, "--message-format", "json-render-diagnostics"], cwd=root, stdout=subprocess.PIPE, text=True)
    messages = [json.loads(line) for line in built.stdout.splitlines() if line.startswith("{")]
    programs = [message["executable"] for message in messages if message.get("executable")]
    if built.returncode != 0 or not programs:
        sys.exit(
            f"the gateway's program could not be built from source: `{' '.join(command)}` ended with {built.returncode}, and said why above. "
            f"It needs a C compiler. With {VARIABLE}=none the package is installed without the command {COMMAND}, which "
            "Gateway.start then looks for on PATH"
        )
    return pathlib.Path(programs[-1])


def with_arguments(settings):
    """What maturin is given if nobody says otherwise: what is optimised, and exactly the locked crates."""
    chosen = {"build-args", "maturin.build-args"} & set(settings or {})
    if chosen or os.environ.get("MATURIN_PEP517_ARGS"):
        return settings
    return {**(settings or {}), "maturin.build-args": "--profile release --locked"}


def sources(root):
    """The files that the workspace and the package are built from, relative to the root."""
    query = ["cargo", "metadata", "--locked", "--no-deps", "--format-version", "1"]
    packages = json.loads(subprocess.run(query, cwd=root, stdout=subprocess.PIPE, check=True).stdout)["packages"]
    folders = {os.path.relpath(os.path.dirname(package["manifest_path"]), root) for package in packages}
    chosen = ["Cargo.toml", "Cargo.lock", "LICENSE", str(PROJECT), *folders]
    if root.joinpath(".git").exists():
        listing = ["git", "ls-files", "-z", "--", *chosen]
        paths = subprocess.run(listing, cwd=root, stdout=subprocess.PIPE, check=True, text=True).stdout.split("\0")
    else:
        below = lambda name: [root / name] if root.joinpath(name).is_file() else root.joinpath(name).rglob("*")
        paths = [found.relative_to(root).as_posix() for name in chosen for found in below(name)]
    return sorted({path for path in paths if path and not LEFT_OUT.search(path) and root.joinpath(path).is_file()})


def write_archive(path, files):
    """A tar file that only its contents and `SOURCE_DATE_EPOCH` decide about."""
    time = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb", mtime=time) as stream, tarfile.open(fileobj=stream, mode="w") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mtime, entry.mode = len(content), time, 0o644
            archive.addfile(entry, io.BytesIO(content))
    path.write_bytes(packed.getvalue())
