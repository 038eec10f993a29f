"""Starts the program `portion`: for `uvx portion-mcp` and `python -m portion_client`."""

import os
import subprocess
import sys

from portion_client import PortionError, find_binary


def main() -> None:
    """Replaces this process by the program, with the same arguments. Windows cannot replace a process."""
    try:
        program = find_binary()
    except PortionError as error:
        sys.exit(f"portion: {error}")
    line = [program, *sys.argv[1:]]
    if sys.platform == "win32":
        sys.exit(subprocess.run(line).returncode)
    os.execv(program, line)


if __name__ == "__main__":
    main()
