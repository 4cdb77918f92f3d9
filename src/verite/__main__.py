"""The way in from a shell: `verite` and `python -m verite`. An interrupt while modules load ends in a line, too."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Load the command line and run it."""
    try:
        from verite.cli import main as run

        run()
    except KeyboardInterrupt:
        print("verite: interrupted", file=sys.stderr)
        os._exit(130)  # half-loaded modules have nothing to tidy up


if __name__ == "__main__":
    main()
