"""The platforms that packages are made for, and the manifest of each one's npm package."""

import dataclasses
import json

MAIN = "mcp-tool-gateway"


@dataclasses.dataclass(frozen=True)
class Platform:
    target: str
    os: str
    cpu: str
    # The oldest system that its packages run on, in the words of wheels.
    wheel: str
    libc: str = ""
    library: str = "libgateway_node.so"
    program: str = "mcp-tool-gateway"

    def manifest(self, name, version):
        """The package.json of this platform's npm package."""
        libc = {"libc": [self.libc]} if self.libc else {}
        return {
            "name": f"{MAIN}-{name}",
            "version": version,
            "description": f"The gateway's program and the engine of mcp-tool-gateway for {self.target}",
            "license": "MIT",
            "engines": {"node": ">=20"},
            "os": [self.os],
            "cpu": [self.cpu],
            **libc,
            "main": "engine.node",
            "files": ["engine.node", f"bin/{self.program}"],
        }


DARWIN = {"os": "darwin", "library": "libgateway_node.dylib"}
PLATFORMS = {
    "linux-x64-gnu": Platform("x86_64-unknown-linux-gnu", "linux", "x64", "manylinux_2_17", libc="glibc"),
    "linux-arm64-gnu": Platform("aarch64-unknown-linux-gnu", "linux", "arm64", "manylinux_2_17", libc="glibc"),
    "darwin-arm64": Platform("aarch64-apple-darwin", cpu="arm64", wheel="macosx_11_0", **DARWIN),
    "darwin-x64": Platform("x86_64-apple-darwin", cpu="x64", wheel="macosx_11_0", **DARWIN),
    "win32-x64-msvc": Platform(
        "x86_64-pc-windows-msvc", "win32", "x64", "win_amd64", library="gateway_node.dll", program="mcp-tool-gateway.exe"
    ),
}


# Those that packages are built and published for. A name that nobody has published is free for anyone to publish under, so the main package
# must not ask for it.
PUBLISHED = ("linux-x64-gnu",)


def optional_dependencies(version):
    """What the main package names: npm installs the one that fits the machine and leaves out the others."""
    return {f"{MAIN}-{name}": version for name in sorted(PUBLISHED)}


def text_of(manifest):
    return json.dumps(manifest, indent=2) + "\n"
