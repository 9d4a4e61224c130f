"""The browser behind the playwright server: Chromium as the npm package @sparticuz/chromium carries it, packed.

The package has its own way to unpack, which wants a newer Node and puts everything into /tmp.
"""

import subprocess

UNPACK = "process.stdin.pipe(require('node:zlib').createBrotliDecompress()).pipe(process.stdout)"

# Its own libraries and fonts: machines without a desktop have neither.
LAUNCHER = """#!/bin/sh
export LD_LIBRARY_PATH='{home}/lib' FONTCONFIG_FILE='{home}/fonts.conf'
exec '{home}/chromium' "$@"
"""
FONTS = """<?xml version="1.0"?>
<fontconfig><dir>{home}/fonts</dir><cachedir>{home}/fonts-cache</cachedir></fontconfig>
"""


def launcher(cache):
    """The program that starts the browser."""
    return cache / "browser/launch"


def unpack(cache):
    """Makes the browser of the package that npm has put into the cache."""
    packed, home = cache / "node_modules/@sparticuz/chromium/bin", cache / "browser"
    home.mkdir()
    write(packed / "chromium.br", home / "chromium")
    (home / "chromium").chmod(0o755)
    for name in ("al2023", "fonts"):
        archive = home / f"{name}.tar"
        write(packed / f"{name}.tar.br", archive)
        subprocess.run(["tar", "-x", "--no-same-owner", "-f", archive, "-C", home], check=True)
        archive.unlink()
    (home / "fonts.conf").write_text(FONTS.format(home=home))
    launcher(cache).write_text(LAUNCHER.format(home=home))
    launcher(cache).chmod(0o755)


def write(packed, path):
    with packed.open("rb") as source, path.open("wb") as sink:
        subprocess.run(["node", "-e", UNPACK], stdin=source, stdout=sink, check=True)
