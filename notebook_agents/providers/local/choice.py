"""Choosing a tool, or none, with a model that was never taught to call tools.

Asked directly, the bundled model picks the right tool a third of the time. It
is far better at the reverse question: how likely is this message, if the person
wants what that tool does? That is the noisy-channel classifier of Min et al. [1]_.
Tools and ways to reply without one are scored so, the likeliest wins.

References
----------
.. [1] S. Min, M. Lewis, H. Hajishirzi, L. Zettlemoyer, "Noisy Channel Language
   Model Prompting for Few-Shot Text Classification", ACL 2022.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from notebook_agents.errors import AgentConfigurationError
from notebook_agents.providers.local.ask import Asker

__all__ = ["Function", "choose", "offered"]

Function = Mapping[str, Any]
"""The ``function`` part of an OpenAI tool: name, description, parameters."""

_SCENE = "Write a message that somebody sends to an assistant. What they want: {}"
_REPLY_WISHES = (
    "to say hello.",
    "to say thank you.",
    "an answer to a question of general knowledge.",
    "a poem, a joke or a story.",
    "to know who the assistant is.",
)

# In nats, set on 32 prompts; docs/guides/local-model.md has the figures.
_REPLY_BONUS = 1.5
_WORD_BONUS = 2.0
_NUMBER_BONUS = 3.0

_SCORED_TOKENS = 48
"""How much of a long message is looked at."""

_COMMON_WORDS = """
a an the of to and or in on for is are was were be i you me my it that this with
from by at as do does not all any what which how who please tell show give get if
can will name number
"""
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_ENDINGS = ("ations", "ation", "ing", "ies", "es", "s", "ed", "y", "e")
_MIN_STEM = 3


def offered(
    tools: Sequence[Mapping[str, Any]], tool_choice: object, *, has_result: bool
) -> tuple[list[Function], bool]:
    """Tell what the model may do next.

    Parameters
    ----------
    tools : sequence of dict
        OpenAI function-tool objects.
    tool_choice : str, dict or None
        ``"auto"``, ``"none"``, ``"required"`` or a named function.
    has_result : bool
        Whether the last message is a tool's result.

    Returns
    -------
    functions : list of Function
        What it may call.
    may_reply : bool
        Whether it may answer instead.

    Raises
    ------
    AgentConfigurationError
        If `tool_choice` cannot be understood or names no tool.
    """
    functions: list[Function] = [tool["function"] for tool in tools]
    match tool_choice:
        case None | "auto":
            # With a result at hand it answers: it cannot tell whether that is
            # enough, and would call the same tool for ever.
            return ([] if has_result else functions), True
        case "none":
            return [], True
        case "required" if functions:
            return functions, False
        case {"function": {"name": name}} | {"name": name}:
            named = [function for function in functions if function["name"] == name]
            if named:
                return named, False
    message = f"tool_choice {tool_choice!r} does not fit the tools of this request."
    raise AgentConfigurationError(message)


async def choose(
    asker: Asker, functions: Sequence[Function], message: str, *, may_reply: bool
) -> Function | None:
    """Choose what a message asks for.

    Parameters
    ----------
    asker : Asker
        How to ask the model.
    functions : sequence of Function
        What may be called.
    message : str
        What the user wrote.
    may_reply : bool
        Whether no tool is an answer too.

    Returns
    -------
    Function or None
        The likeliest; None for a reply without a tool.
    """
    if not may_reply and len(functions) == 1:
        return functions[0]
    text = " ".join(message.split())
    tokens = (await asker.engine.tokenize(text) or [])[:_SCORED_TOKENS]
    grammar = _grammar_of(tokens, text)
    size = len(tokens) or len(text)

    async def score(wish: str) -> float:
        prompt = [{"role": "user", "content": _SCENE.format(wish)}]
        answer = await asker.whole(
            prompt, grammar=grammar, max_tokens=size, logprobs=True, top_logprobs=1
        )
        return answer.log_likelihood

    best: Function | None = None
    best_score = -float("inf")
    if may_reply:
        best_score = max([await score(wish) for wish in _REPLY_WISHES]) + _REPLY_BONUS
    for function in functions:
        total = await score(_wish_of(function)) + evidence(function, message)
        if total > best_score:
            best, best_score = function, total
    return best


def evidence(function: Function, message: str) -> float:
    """Weigh what can be seen without a model, in nats.

    Parameters
    ----------
    function : Function
        A tool.
    message : str
        What the user wrote.

    Returns
    -------
    float
        More for each word that the message shares with the tool, and for as
        many numbers as it needs; less if there are too few of them.
    """
    parameters = (function.get("parameters") or {}).get("properties") or {}
    spoken = " ".join(
        [function["name"], function.get("description") or "", *parameters]
    )
    weight = _WORD_BONUS * len(_stems(spoken.replace("_", " ")) & _stems(message))
    needed = sum(
        schema.get("type") in {"integer", "number"} for schema in parameters.values()
    )
    if needed:
        enough = len(_NUMBER.findall(message)) >= needed
        weight += _NUMBER_BONUS if enough else -_NUMBER_BONUS
    return weight


def _wish_of(function: Function) -> str:
    described = " ".join((function.get("description") or "").split())
    # The first sentence says what a tool does; the rest how to use it.
    first = re.split(r"(?<=[.!?])\s", described, maxsplit=1)[0]
    return first or str(function["name"]).replace("_", " ") + "."


def _grammar_of(tokens: Sequence[int], text: str) -> str:
    """Let the model write this text only; by its own tokens where they are known."""
    if tokens:
        return "root ::= " + " ".join(f"<[{token}]>" for token in tokens)
    return "root ::= " + json.dumps(text, ensure_ascii=False)


def _stems(text: str) -> set[str]:
    common = _COMMON_WORDS.split()
    words = re.findall(r"[^\W\d_]+", text.lower())
    return {_stem(word) for word in words if word not in common}


def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _MIN_STEM:
            return word.removesuffix(ending)
    return word
