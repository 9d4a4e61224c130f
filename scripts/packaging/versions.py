"""Whether every file that is shipped has the version of the workspace, which is the only place where it is changed."""

import json
import re
import tomllib

from platforms import PLATFORMS, optional_dependencies, text_of

# The crates that packages are made of.
CRATES = {"crates/cli": "mcp-tool-gateway", "clients/python/native": "gateway-python", "clients/typescript/native": "gateway-node"}


def workspace_version(root):
    return tomllib.loads((root / "Cargo.toml").read_text())["workspace"]["package"]["version"]


def differences(root):
    """What does not have the workspace's version, a line each."""
    version = workspace_version(root)
    return [*differing_crates(root, version), *differing_python(root), *differing_npm(root, version)]


def differing_crates(root, version):
    locked = {entry["name"]: entry["version"] for entry in tomllib.loads((root / "Cargo.lock").read_text())["package"]}
    for folder, name in CRATES.items():
        if tomllib.loads((root / folder / "Cargo.toml").read_text())["package"]["version"] != {"workspace": True}:
            yield f"{folder}/Cargo.toml: write version.workspace = true"
        if locked.get(name) != version:
            yield f"Cargo.lock: {name} has version {locked.get(name)}"


def differing_python(root):
    """Python's package takes the version from its crate, so it must not have one of its own."""
    project = tomllib.loads((root / "clients/python/pyproject.toml").read_text())["project"]
    if "version" in project or "version" not in project.get("dynamic", []):
        yield 'clients/python/pyproject.toml: write dynamic = ["version"] instead of a version'
    for path in sorted((root / "clients/python/src").rglob("*.py")):
        if match := re.search(r"^__version__\s*=\s*[\"'].*", path.read_text(), re.MULTILINE):
            yield f"{path.relative_to(root)}: has a version of its own, {match[0]}"


def differing_npm(root, version):
    folder = root / "clients/typescript"
    main = json.loads((folder / "package.json").read_text())
    if main["version"] != version:
        yield f"clients/typescript/package.json: has version {main['version']}"
    if main.get("optionalDependencies", optional_dependencies(version)) != optional_dependencies(version):
        yield f"clients/typescript/package.json: optionalDependencies are not {json.dumps(optional_dependencies(version))}"
    if (lock := folder / "package-lock.json").exists() and json.loads(lock.read_text()).get("version") != version:
        yield f"clients/typescript/package-lock.json: has version {json.loads(lock.read_text()).get('version')}"
    for path in sorted(folder.glob("npm/*/package.json")):
        name = path.parent.name
        if name not in PLATFORMS:
            yield f"{path.relative_to(root)}: scripts/packaging/platforms.py knows no platform {name}"
        elif path.read_text() != (wanted := text_of(PLATFORMS[name].manifest(name, version))):
            yield f"{path.relative_to(root)}: is not what scripts/packaging/platforms.py says:\n{wanted}"
