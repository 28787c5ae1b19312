"""What a page that was reloaded is told of a run.

Such a page gets no more outputs of a cell that ran before, for it does not follow
that cell any more. Its card is still there, so the card is told: in words as it
happens, and at the end the outputs themselves, which the page then puts into the
notebook in the place of the card.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from notebook_agents.jupyter import kernel
from notebook_agents.jupyter._words import encodable
from notebook_agents.jupyter.cell_runs import elapsed
from notebook_agents.jupyter.look import Look
from notebook_agents.jupyter.output import HeldOutput
from notebook_agents.jupyter.renderer import HEADER, CellRenderer
from notebook_agents.run import Run

if TYPE_CHECKING:
    from notebook_agents.jupyter.card import ApprovalCard

__all__ = ["retell"]

MOST_CHARACTERS = 20_000
"""How much a card is told in a round, of which there may be ten in a second."""


async def retell(run: Run[Any], card: ApprovalCard, *, look: Look | None) -> None:
    """Tell a card what becomes of a run, until it ends.

    Parameters
    ----------
    run : Run
        The run.
    card : ApprovalCard
        What is on the page.
    look : Look or None
        How the cell shows the run; None if it does not.
    """
    story = _Story(run, card, is_shown=look is not None)
    renderer = CellRenderer(
        agent=run.agent,
        model=run.model,
        look=look,
        make_output=story.part,
        elapsed=lambda: elapsed(run),
        is_alone=True,
    )
    renderer.watch(run)
    story.begin()
    await renderer.follow(run)
    story.end()


class _Part(HeldOutput):
    """What would be an output of the cell."""

    def __init__(self, story: _Story) -> None:
        super().__init__()
        self._story = story

    def display(self, bundle: Mapping[str, Any], *, raw: bool) -> None:
        super().display(bundle, raw=raw)
        self._story.changed()


class _Story:
    """The parts of a run, and which of them the page has not seen."""

    def __init__(
        self,
        run: Run[Any],
        card: ApprovalCard,
        *,
        is_shown: bool,
    ) -> None:
        self._run = run
        self._card = card
        self._is_shown = is_shown
        self._parts: dict[str, _Part] = {}
        self._seen: dict[str, str] = {}
        """What stood above the card when the page was loaded again."""
        self._loop = asyncio.get_running_loop()
        self._due: asyncio.Handle | None = None

    def part(self, key: str) -> _Part:
        """Make the next part."""
        part = self._parts[key] = _Part(self)
        return part

    def begin(self) -> None:
        """Note what stands above the card by now."""
        self._seen = {key: _plain(part) for key, part in self._parts.items()}

    def changed(self) -> None:
        """Tell the card, once for all parts of a round."""
        if self._due is None:
            self._due = self._loop.call_soon(self._tell)

    def end(self) -> None:
        """Give the card the outputs that belong in the notebook."""
        if self._due is not None:  # it would take these outputs away again
            self._due.cancel()
        before = set(self._above())
        first = len(before) if self._is_shown else 0
        bundles = {key: part.bundle for key, part in self._parts.items()}
        kept = [each for key, each in bundles.items() if key in before]
        new = [each for key, each in bundles.items() if key not in before]
        self._say(
            id=self._card.model_id,
            above=kept[:first],
            instead=[each for each in new if any(each.values())],
        )

    def _tell(self) -> None:
        self._due = None
        self._say()

    def _say(self, **outputs: Any) -> None:
        told = {"news": self._news(), "hint": self._hint(), **outputs}
        self._card.after = encodable(told)

    def _news(self) -> list[dict[str, str]]:
        """Give the latest parts: all of a long run would be far too much each time."""
        texts = {key: _plain(part) for key, part in self._parts.items()}
        texts = {key: text for key, text in texts.items() if self._is_news(key, text)}
        head = [_told(HEADER, texts.pop(HEADER))] if HEADER in texts else []
        latest: list[dict[str, str]] = []
        room = MOST_CHARACTERS
        for key in reversed(texts):
            text = texts[key]
            if len(text) > room and latest:
                break
            # Of one that is too long itself, the end is what is new.
            is_whole = len(text) <= room
            latest.append(_told(key, text if is_whole else f"… {text[-room:]}"))
            room -= len(text)
        left_out = len(texts) - len(latest)
        if left_out:
            latest.append(_told("notice", f"… {left_out} earlier parts are left out."))
        return [*head, *reversed(latest)]

    def _is_news(self, key: str, text: str) -> bool:
        if self._is_in_card(key):
            return False
        return key == HEADER or bool(text and text != self._seen.get(key))

    def _is_in_card(self, key: str) -> bool:
        kind, _, name = key.partition(":")
        return kind == "approval" and any(row["id"] == name for row in self._card.rows)

    def _above(self) -> list[str]:
        """Name the parts that the cell showed before it asked."""
        above = []
        for key in self._seen:
            if self._is_in_card(key):
                break
            above.append(key)
        return above

    def _hint(self) -> str:
        return (
            "This page was loaded after the cell began, so what it shows is told here. "
            f"{_how_to_see(self._run)} shows all of it in another cell."
        )


def _told(key: str, text: str) -> dict[str, str]:
    return {"kind": key.partition(":")[0], "text": text}


def _plain(part: _Part) -> str:
    return str(part.bundle.get("text/plain", ""))


def _how_to_see(run: Run[Any]) -> str:
    """Say how the run is shown again, by the variable that holds its agent."""
    variables = dict(kernel.shell().user_ns)
    for name, value in variables.items():
        if not name.startswith("_") and getattr(value, "last_run", None) is run:
            return f"{name}.last_run"
    return "last_run of the agent"
