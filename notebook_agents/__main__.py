"""``python -m notebook_agents``: the command, where it is not on the path."""

from __future__ import annotations

import sys

from notebook_agents.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
