"""``notebook-agents models``: what there is to choose from, and weights to fetch."""

from __future__ import annotations

import argparse
import sys
from typing import TextIO

from notebook_agents.providers.local.pull import pull_weights
from notebook_agents.providers.local.weights import (
    DEFAULT_MODEL,
    KNOWN,
    find_weights,
    is_here,
    known_weights,
)
from notebook_agents.providers.registry import make_provider

__all__ = ["add_command"]

_MEGABYTE = 1_000_000


def add_command(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
) -> None:
    """Add ``models`` to the command line.

    Parameters
    ----------
    commands : argparse's subparsers
        Where subcommands are added.
    """
    about = "list the models of a provider; fetch and find the weights of local ones"
    models = commands.add_parser("models", help=about, description=about)
    actions = models.add_subparsers(required=True, metavar="ACTION")

    pull = actions.add_parser("pull", help="fetch the weights, once")
    pull.add_argument("--force", action="store_true", help="fetch them again")
    pull.set_defaults(run=_pull)

    listing = actions.add_parser("list", help="list the models")
    listing.add_argument(
        "provider", nargs="?", help="such as openai; without one, those to fetch"
    )
    listing.set_defaults(run=_list)

    where = actions.add_parser("where", help="print the path of the weights")
    where.set_defaults(run=_where)

    for parser in (pull, where):
        parser.add_argument("model", nargs="?", default=DEFAULT_MODEL, help="its name")


def _pull(chosen: argparse.Namespace) -> int:
    weights = known_weights(chosen.model)
    bar = _Bar(sys.stderr, f"Fetching {weights.name}")
    try:
        path, fetched = pull_weights(weights, force=chosen.force, progress=bar.show)
    finally:
        bar.close()
    _say(f"{weights.name} is {'now' if fetched else 'already'} at {path}")
    return 0


def _list(chosen: argparse.Namespace) -> int:
    if chosen.provider is not None:
        for name in make_provider(chosen.provider).models_sync():
            _say(name)
        return 0
    for weights in KNOWN:
        state = "fetched" if is_here(weights) else "not fetched"
        size = f"{weights.size / _MEGABYTE:.0f} MB"
        _say(f"{weights.name}  {size}  {weights.license}  {state}")
    return 0


def _where(chosen: argparse.Namespace) -> int:
    _say(str(find_weights(chosen.model)))
    return 0


def _say(line: str) -> None:
    print(line)


class _Bar:
    """A line that shows how far a download is; redrawn only on a terminal."""

    def __init__(self, stream: TextIO, title: str) -> None:
        self._stream = stream
        self._title = title
        self._last: str | None = None

    def show(self, done: int, total: int) -> None:
        """Draw the line, if it changed."""
        if not self._stream.isatty():
            if self._last is None:
                self._write(f"{self._title} ({total / _MEGABYTE:.0f} MB) ...\n")
            return
        filled = 30 * done // total
        bar = "#" * filled + "." * (30 - filled)
        of = f"{done / _MEGABYTE:3.0f} of {total / _MEGABYTE:.0f} MB"
        self._write(f"\r{self._title} [{bar}] {of}")

    def close(self) -> None:
        """Leave the line."""
        if self._last is not None and self._stream.isatty():
            self._stream.write("\n")

    def _write(self, line: str) -> None:
        if line != self._last:
            self._last = line
            self._stream.write(line)
            self._stream.flush()
