"""What may stand on the line of ``%%agent``."""

from __future__ import annotations

from typing import Any

from IPython.core.magic_arguments import argument, magic_arguments

from notebook_agents.jupyter.formats import FORMATS
from notebook_agents.policy import MODES

__all__ = ["AGENT", "AGENT_ARGUMENTS", "taking"]

AGENT = argument(
    "agent",
    nargs="?",
    help="Name of an Agent in this notebook; left out, the one used last, else "
    "the only one there is, else one on the default model.",
)
AGENT_ARGUMENTS = (
    AGENT,
    argument("-m", "--model", help='Model for this cell, as "provider:model".'),
    argument(
        "-s",
        "--system",
        metavar="TEXT",
        help="System prompt for this cell; {name} is replaced by that variable.",
    ),
    argument(
        "-p",
        "--param",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="Sampling parameter for this cell, such as temperature=0; what is not "
        "known goes to the model service as it is, unless it looks misspelt. May be given "
        "several times.",
    ),
    argument(
        "-o",
        "--out",
        metavar="NAME",
        help="Variable to bind the result to; with -f json, -f df or --schema, its value.",
    ),
    argument(
        "-f",
        "--format",
        choices=FORMATS,
        default=FORMATS[0],
        help="How the answer is shown and read: markdown (the default), text as it "
        "was written, json, df (a DataFrame), code (proposed as a cell below), math.",
    ),
    argument(
        "--schema",
        metavar="NAME",
        help="Variable that holds the type of the answer, such as a pydantic model; "
        "-o then binds the value.",
    ),
    argument(
        "-S",
        "--session",
        metavar="NAME",
        help="Conversation that is kept under this name, also after a restart.",
    ),
    argument("-n", "--new", action="store_true", help="Begin the conversation anew."),
    argument(
        "-y",
        "--approve",
        choices=MODES,
        help="How calls that need approval are decided: ask (the default), "
        "policy, allow, deny.",
    ),
    argument(
        "-t",
        "--tool",
        action="append",
        default=[],
        metavar="NAME",
        help="The only tool for this cell; may be given several times.",
    ),
    argument("--no-tools", action="store_true", help="No tools for this cell."),
    argument("-q", "--quiet", action="store_true", help="Show the text alone."),
    argument(
        "-v",
        "--verbose",
        action="store_true",
        help="Show tool calls and thoughts open and whole.",
    ),
    argument(
        "--on-error",
        choices=("raise", "show"),
        default="raise",
        help="Whether a run that fails ends Run All (raise, the default).",
    ),
    argument("-r", "--raw", action="store_true", help="Leave {name} as it stands."),
    argument(
        "--max-steps",
        type=int,
        help="Most model calls; else those of the agent, or 10 where it has no limit.",
    ),
    argument("--timeout", type=float, metavar="SECONDS", help="Longest run."),
)


def taking(name: str, *arguments: Any) -> Any:
    """Give the function of a cell magic its arguments, in the order of its help.

    Parameters
    ----------
    name : str
        The magic.
    *arguments : argument
        What its line may have.

    Returns
    -------
    callable
        The decorator.
    """

    def decorate(function: Any) -> Any:
        for each in reversed(arguments):
            function = each(function)
        made = magic_arguments(name)(function)
        # Its help shows a magic of a whole cell as one of a line.
        made.__doc__ = made.__doc__.replace(f"  %{name}", f"  %%{name}", 1)
        return made

    return decorate
