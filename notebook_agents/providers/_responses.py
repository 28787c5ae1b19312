"""`ResponsesWire`: how one model is spoken to by OpenAI Responses."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from typing import Any

from notebook_agents.providers._encoding import encode
from notebook_agents.providers._error_words import words_of
from notebook_agents.providers._failures import ServiceFacts
from notebook_agents.providers._replayed import Replays
from notebook_agents.providers._responses_items import KeptItems
from notebook_agents.providers._responses_reply import ResponsesReply
from notebook_agents.providers._responses_request import written
from notebook_agents.providers.base import ModelRequest
from notebook_agents.providers.profiles import ChatProfile
from notebook_agents.providers.shaped import in_words

__all__ = ["ResponsesWire"]

logger = logging.getLogger(__name__)

_OPTIONAL = frozenset(
    {
        "include",
        "max_output_tokens",
        "parallel_tool_calls",
        "phase",
        "reasoning",
        "reasoning.effort",
        "reasoning.summary",
        "store",
        "stream",
        "temperature",
        "text.format",
        "text.verbosity",
        "top_logprobs",
        "top_p",
    }
)
"""What a request can do without, where a service does not know it."""
_MATTERING = frozenset({"reasoning.effort", "text.verbosity"})
"""Where another value would do: the service says which."""
_REFUSES = re.compile(
    r"(?i)unsupported|unknown|unrecogni[sz]ed|not supported|not permitted"
    r"|must be verified"
)
_NAMED = re.compile(r"(?:['\"`]|: )([a-z_]+(?:\.[a-z_]+)*)")
_OTHER_ITEMS = re.compile(
    r"(?i)encrypted[_ ]content|without its required|item with id|duplicate item"
)


class ResponsesWire:
    """What is sent to one model, what comes back, and what it has refused so far.

    Parameters
    ----------
    extra : mapping
        More keys for the body of each request; they win.
    """

    def __init__(self, extra: Mapping[str, Any]) -> None:
        self._extra = extra
        self._without: set[str] = set()
        self._told: set[str] = set()
        self._replays = Replays[KeptItems]()

    def encode(
        self, request: ModelRequest, *, model: str, profile: ChatProfile
    ) -> bytes:
        """Give the body of a request.

        Parameters
        ----------
        request : ModelRequest
            What to ask.
        model : str
            Whom.
        profile : ChatProfile
            What the model takes.

        Returns
        -------
        bytes
            JSON.
        """
        output = request.output
        if output is not None and not output.tool and "text.format" in self._without:
            request = in_words(request, output)
        made = written(
            request,
            model=model,
            profile=profile,
            extra=self._extra,
            without=self._without,
            kept=self._replays.opened(request),
        )
        for name in made.dropped:
            if name not in self._told:
                self._told.add(name)
                logger.warning("%s takes no %s; it is left out", model, name)
        return encode(made.body)

    def new_reply(self, request: ModelRequest, service: ServiceFacts) -> ResponsesReply:
        """Make what reads one reply."""
        return ResponsesReply(
            service,
            sealed=self._replays.sealed,
            output_tool=request.output.tool if request.output else "",
        )

    def give_in(self, body: object) -> bool:
        """Leave out from now on what was refused.

        Parameters
        ----------
        body : object
            The parsed refusal, or its text.

        Returns
        -------
        bool
            Whether it makes sense to ask again.
        """
        words = words_of(body)
        said = f"'{words.param}' {words.code} {words.message}"
        # Another key, or another way of reading them.
        if _OTHER_ITEMS.search(said) and self._replays.renounce():
            return True
        name = _refused_name(said)
        if not name or name.partition(".")[0] in self._extra or name in self._without:
            return False
        self._without.add(name)
        return True


def _refused_name(said: str) -> str:
    """Name the key that a refusal is about; empty if a request cannot do without."""
    if not _REFUSES.search(said):
        return ""
    is_value = "nsupported_value" in said or "nsupported value" in said
    for name in _NAMED.findall(re.sub(r"input\[\d+\]\.", "", said)):
        if name in _OPTIONAL and not (is_value and name in _MATTERING):
            return str(name)
    return ""
