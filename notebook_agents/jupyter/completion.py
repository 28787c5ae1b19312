"""What the Tab key offers on the line of a magic."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from notebook_agents.errors import NotebookAgentsError
from notebook_agents.jupyter.conversation import session_names
from notebook_agents.jupyter.finding import AgentFinder
from notebook_agents.providers.registry import provider_names
from notebook_agents.settings import get_settings

__all__ = ["Candidates", "LineCompleter", "TabKey"]

Candidates = Callable[[list[str], str], Iterable[str]]
"""``(words before, beginning of the last one) -> whole words``."""

_PARAMS = (
    "max_tokens=",
    "reasoning_effort=",
    "seed=",
    "stop=",
    "temperature=",
    "top_p=",
)


class LineCompleter:
    """Completes the first line of a cell that begins with one magic.

    It looks at nothing but the notebook, the disk and the environment.

    Parameters
    ----------
    arguments : sequence of argument
        What the line may have.
    agents : AgentFinder
        The agents of the notebook.
    """

    def __init__(self, arguments: Iterable[Any], agents: AgentFinder) -> None:
        self._agents = agents
        self._arguments = {
            name: each.kwds
            for each in arguments
            for name in each.args
            if name.startswith("-")
        }
        models, tools = self._models, self._tools
        sessions = self._sessions
        self._values: dict[str, Callable[[list[str]], Iterable[str]]] = {
            "-m": models,
            "--model": models,
            "-p": lambda _: _PARAMS,
            "--param": lambda _: _PARAMS,
            "-S": sessions,
            "--session": sessions,
            "-t": tools,
            "--tool": tools,
        }

    def candidates(self, words: list[str], word: str) -> Iterable[str]:
        """Give what could stand at the end of a line.

        Parameters
        ----------
        words : list of str
            The words before, without the magic itself.
        word : str
            The beginning of the last one.

        Returns
        -------
        iterable of str
            Whole words.
        """
        option, equals, _ = word.partition("=")
        if equals and option.startswith("--"):
            return [f"{option}={value}" for value in self._values_of(option, words)]
        if words and self._takes_value(words[-1]):
            return self._values_of(words[-1], words)
        if word.startswith("-"):
            return self._unused(words)
        return [] if self._positional(words) else sorted(self._agents.here())

    def _values_of(self, option: str, words: list[str]) -> Iterable[str]:
        if option in self._values:
            return self._values[option](words)
        choices: Iterable[str] = self._arguments.get(option, {}).get("choices", ())
        return choices

    def _takes_value(self, word: str) -> bool:
        known = self._arguments.get(word)
        return known is not None and known.get("action") != "store_true"

    def _unused(self, words: list[str]) -> list[str]:
        used = [self._arguments.get(word) for word in words]
        return [
            name
            for name, facts in self._arguments.items()
            if facts not in used or facts.get("action") == "append"
        ]

    def _positional(self, words: list[str]) -> str | None:
        """Give the agent that is named already."""
        before = ["", *words]
        for last, word in zip(before, words, strict=False):
            if not word.startswith("-") and not self._takes_value(last):
                return word
        return None

    def _tools(self, words: list[str]) -> Iterable[str]:
        agent = self._agents.peek(self._positional(words))
        agents = self._agents.here().values() if agent is None else (agent,)
        return sorted({name for each in agents for name in each.tools})

    def _models(self, _: list[str]) -> Iterable[str]:
        # Loaded with the first look, which most notebooks never take.
        from notebook_agents.providers.local.weights import KNOWN

        # A provider that was made by hand may have no name by which to ask for it.
        names = provider_names()
        agents = self._agents.here().values()
        known = {each.model_label for each in agents if each.provider_name in names}
        used = {label for label in known if ":" in label and " " not in label}
        own = {get_settings().model or ""} - {""}
        local = {f"local:{weights.name}" for weights in KNOWN}
        services = [f"{name}:" for name in names]
        return [*sorted(used | own | local), *services]

    @staticmethod
    def _sessions(_: list[str]) -> Iterable[str]:
        return [f'"{name}"' if " " in name else name for name in session_names()]


class TabKey:
    """Answers IPython when the Tab key is pressed on the line of a magic.

    IPython from 8.6 on asks with a context and can be told that nothing else
    fits there; before, it asks with the line alone.

    Parameters
    ----------
    completer : IPCompleter
        IPython's own.
    candidates : mapping of str to callable
        What may follow each magic.
    """

    matcher_api_version = 2
    matcher_identifier = "notebook_agents"
    matcher_priority = 1000  # before the others, which it may silence

    def __init__(self, completer: Any, candidates: Mapping[str, Candidates]) -> None:
        self.__qualname__ = self.matcher_identifier  # by which older ones name it
        self._completer = completer
        self._candidates = candidates

    def register(self) -> None:
        """Begin to answer."""
        self._completer.magic_arg_matchers.append(self)

    def unregister(self) -> None:
        """Answer no more."""
        self._completer.magic_arg_matchers.remove(self)

    def __call__(self, asked: Any) -> Any:
        """Give what fits: names for an older IPython, else a matcher's result."""
        if isinstance(asked, str):
            until = self._completer.text_until_cursor
            word, found = self._matches(until)
            # It replaces what stands behind a colon, say, and not the whole word.
            kept = len(word) - len(self._completer.splitter.split_line(until))
            return [each[kept:] for each in found]
        from IPython.core.completer import SimpleCompletion

        word, found = self._matches(asked.text_until_cursor)
        return {
            "completions": [
                SimpleCompletion(text=each, type="param") for each in found
            ],
            "matched_fragment": word,
            "ordered": True,
            "suppress": True,
        }

    def _matches(self, until: str) -> tuple[str, list[str]]:
        """Give the word before the cursor and what it may become."""
        magic, *words = re.split(r"\s+", until.lstrip())
        if magic not in self._candidates or not words:
            return "", []
        word = words.pop()
        try:
            found = list(self._candidates[magic](words, word))
        except NotebookAgentsError:
            return word, []  # the cell itself will say what is wrong
        return word, [each for each in found if each.startswith(word)]
