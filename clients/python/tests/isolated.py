#!/usr/bin/env python3
"""Runs the cases of cases.py where nothing is installed but this package: `python -I isolated.py [--bin GATEWAY] [--package FOLDER]`."""

from __future__ import annotations

import argparse
import pathlib
import sys
import traceback

HERE = pathlib.Path(__file__).resolve().parent


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", help="the gateway; else the installed one")
    parser.add_argument("--package", help="the folder that the package is in; else the installed one")
    given = parser.parse_args()
    sys.path.insert(0, str(HERE))
    if given.package:
        sys.path.insert(0, given.package)
    from cases import CASES, CONFIG

    from mcp_tool_gateway import Gateway

    failed = 0
    gateway = Gateway.start(CONFIG, binary=given.bin)
    with gateway:
        for name, case in CASES.items():
            try:
                with gateway.client() as client:
                    case(client)
            except Exception:
                failed += 1
                print(f"FAILED {name}\n{traceback.format_exc()}")
    print(f"{len(CASES) - failed} of {len(CASES)} cases pass on Python {sys.version.split()[0]}{' -I' if sys.flags.isolated else ''}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
