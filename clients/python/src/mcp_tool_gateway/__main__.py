"""`python -m mcp_tool_gateway …` is `mcp-tool-gateway …`."""

from __future__ import annotations

import os
import subprocess
import sys

from .errors import GatewayStartError
from .gateway import find_binary


def main() -> int:
    try:
        binary = find_binary()
    except GatewayStartError as error:
        print(f"mcp_tool_gateway: {error}", file=sys.stderr)
        return 2
    command = [binary, *sys.argv[1:]]
    if os.name == "posix":
        os.execv(binary, command)
    return subprocess.call(command)


if __name__ == "__main__":
    sys.exit(main())
