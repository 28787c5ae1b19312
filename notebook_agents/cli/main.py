"""The command ``notebook-agents``: one parser, one module a subcommand."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence

from notebook_agents._version import __version__
from notebook_agents.cli import demo, models
from notebook_agents.errors import NotebookAgentsError

__all__ = ["main"]

COMMANDS: tuple[
    Callable[[argparse._SubParsersAction[argparse.ArgumentParser]], None], ...
] = (demo.add_command, models.add_command)
"""What adds each subcommand. A further one is a module beside `models` with an
``add_command`` that sets the default ``run``: a function from the parsed
arguments to the exit code."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    arguments : sequence of str, optional
        What follows the command's name; default is that of the process.

    Returns
    -------
    int
        Exit code: 0 if all went well, 1 if not.
    """
    parser = argparse.ArgumentParser(
        prog="notebook-agents", description="Agents in notebooks."
    )
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for add_command in COMMANDS:
        add_command(commands)
    chosen = parser.parse_args(arguments)
    try:
        return int(chosen.run(chosen))
    except NotebookAgentsError as error:
        print(f"notebook-agents: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("notebook-agents: stopped", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
