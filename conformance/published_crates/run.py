"""The crates that others can use without the gateway, in the form in which a registry would have them.

    run.py [--cache FOLDER]           packages them, builds a program on what was packaged, compares their interfaces with api/
    run.py --interface [--update]     only the interfaces; --update writes those of today, but no break without a new version
    run.py --install-only             fetches what the builds need

Needs no network where cargo has the crates of Cargo.lock already. Exit status: 0 good, 1 something is wrong, 77 with `NOT RUN:` where this
toolchain's rustdoc cannot be read.
"""

import argparse
import difflib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from api import OtherFormat, listing
from programs import ROOT, print_table

# Those that need others come after them.
CRATES = ["gateway-notation", "gateway-regex", "gateway-dialects"]
EXPECTED = {"description", "license", "readme", "keywords", "categories", "rust-version", "edition", "version", "name"}
# Only what a build needs: neither tests, which read files of the whole workspace, nor anything that somebody left behind.
ALLOWED = re.compile(
    r"Cargo\.toml|Cargo\.toml\.orig|Cargo\.lock|README\.md|LICENSE|\.cargo_vcs_info\.json|src/.+\.(rs|snap|json)|data/.+\.toml"
)


def fail(message):
    print(f"WRONG: {message}")
    return 1


def cargo(*arguments, **options):
    return subprocess.run(["cargo", *arguments], cwd=ROOT, text=True, **options)


def package(target):
    """The tarball of each crate, or why there is none."""
    chosen = [word for name in CRATES for word in ("--package", name)]
    command = ["package", "--quiet", "--no-verify", "--allow-dirty", "--locked", "--offline", "--target-dir", target, *chosen]
    if cargo(*map(str, command)).returncode != 0:
        return None
    version = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    return {name: target / "package" / f"{name}-{version}.crate" for name in CRATES}


def check_package(name, folder, names):
    """What is wrong with one unpacked crate."""
    manifest = tomllib.loads((folder / "Cargo.toml").read_text())
    about = manifest["package"]
    wrong = [f"{name}: `{field}` is missing" for field in sorted(EXPECTED - about.keys())]
    if len(about.get("keywords", [])) > 5 or len(about.get("categories", [])) > 5:
        wrong.append(f"{name}: a registry takes five keywords and five categories")
    for kind, found in manifest.get("dependencies", {}).items():
        if isinstance(found, dict) and ("path" in found or "version" not in found):
            wrong.append(f"{name}: the dependency {kind} has no version, or a path: {found}")
    wrong += [f"{name}: {file} does not belong into it" for file in names if not ALLOWED.fullmatch(file)]
    for file in folder.rglob("*"):
        if file.is_file() and str(ROOT).encode() in file.read_bytes():
            wrong.append(f"{name}: {file.relative_to(folder)} names a folder of this machine")
    return wrong


def build(packed, folder, target):
    """Builds a program on the packaged crates alone, with the crates of our own lock file, and runs it."""
    user = folder / "user"
    shutil.copytree(HERE / "user", user)
    patches = "".join(f'{name} = {{ path = "{path}" }}\n' for name, path in packed.items())
    with (user / "Cargo.toml").open("a") as manifest:
        # The profile of the workspace, so that what is built already is not built again.
        profiles = re.search(r"^\[profile\.dev\]$.*?(?=^# |\Z)", (ROOT / "Cargo.toml").read_text(), re.M | re.S)
        manifest.write(f"\n[patch.crates-io]\n{patches}\n{profiles[0] if profiles else ''}\n[workspace]\n")
    shutil.copy(ROOT / "Cargo.lock", user / "Cargo.lock")
    command = ["run", "--quiet", "--offline", "--manifest-path", user / "Cargo.toml", "--target-dir", target]
    done = cargo(*map(str, command), capture_output=True)
    if done.returncode != 0:
        print(done.stderr)
    return done.returncode == 0, done.stdout.strip()


def judge_packages(target):
    begun = time.monotonic()
    tarballs = package(target)
    if tarballs is None:
        return fail("cargo does not package them")
    wrong, rows, packed = [], [], {}
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for name, tarball in tarballs.items():
            with tarfile.open(tarball) as archive:
                archive.extractall(folder, filter="data")
                inside = [member.name.split("/", 1)[1] for member in archive.getmembers()]
            packed[name] = folder / tarball.name.removesuffix(".crate")
            wrong += check_package(name, packed[name], inside)
            rows.append((name, str(len(inside)), f"{tarball.stat().st_size / 1024:.0f} KiB"))
        works, said = build(packed, folder, target)
    print_table([("crate", "files", "packed"), *rows])
    if not works:
        wrong.append("a program cannot be built on the packaged crates, or it fails")
    print(f"a program on the packaged crates says: {said}; {time.monotonic() - begun:.0f} s")
    return max([fail(message) for message in wrong], default=0)


def breaking(version):
    """The part of a version that changes with a break: the major one, before 1.0 the minor one too."""
    major, minor, _ = version.split(".", 2)
    return (major, minor) if major == "0" else (major,)


def judge_interfaces(target, update):
    """A committed interface begins with the version that it belongs to."""
    status = 0
    version = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    for name in CRATES:
        committed = HERE / "api" / f"{name}.txt"
        lines = listing(name, target)
        said, *before = committed.read_text().splitlines() if committed.exists() else [f"version {version}"]
        gone, new = set(before) - set(lines), set(lines) - set(before)
        print(f"{name}: {len(lines)} lines, {len(gone)} gone, {len(new)} new")
        if gone and breaking(said.removeprefix("version ")) == breaking(version):
            print("\n".join(sorted(gone)))
            unreleased = f"while {version} is published nowhere, delete {committed.relative_to(ROOT)} before --update"
            status = fail(f"{name} breaks the interface of {version}: raise the version in Cargo.toml; {unreleased}")
        elif update:
            committed.parent.mkdir(exist_ok=True)
            committed.write_text("".join(f"{line}\n" for line in [f"version {version}", *lines]))
        elif said != f"version {version}":
            status = fail(f"the interface of {name} is that of {said}, and this is {version}: run scripts/semver --update")
        elif gone or new:
            print("\n".join(difflib.unified_diff(before, lines, "committed", "now", lineterm="", n=0)))
            kind = "a break" if gone else "an addition"
            status = fail(f"the interface of {name} is another one ({kind}): see scripts/semver")
    return status


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", help="not used; taken as all runners take it")
    parser.add_argument("--fixture", help="not used")
    parser.add_argument("--model", help="not used")
    parser.add_argument("--cache", type=pathlib.Path, default=pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")))
    parser.add_argument("--install-only", action="store_true")
    parser.add_argument("--interface", action="store_true", help="only the interfaces")
    parser.add_argument("--update", action="store_true", help="write the interfaces of today")
    arguments = parser.parse_args()
    target = arguments.cache.resolve()
    if arguments.install_only:
        return cargo("fetch", "--locked").returncode
    status = 0 if arguments.interface else judge_packages(target)
    try:
        status = max(status, judge_interfaces(target, arguments.update))
    except OtherFormat as error:
        print(f"NOT RUN: {error}")
        status = status or 77
    return status


if __name__ == "__main__":
    sys.exit(main())
