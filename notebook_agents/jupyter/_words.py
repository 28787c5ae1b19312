"""How values, calls and times are said in a few words."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Literal

from notebook_agents.messages import Usage

__all__ = [
    "ENDS",
    "LIMITS",
    "WHY_CUT",
    "Level",
    "arguments_text",
    "call_text",
    "capped",
    "clean",
    "duration",
    "encodable",
    "guard_text",
    "indented",
    "is_whole",
    "moment",
    "quoted",
    "retry_text",
    "shortened",
    "tokens",
    "whole",
]

Level = Literal["info", "warning", "error"]
LIMITS = {"max_steps_reached", "budget"}
"""Why a run ends early that has a result nevertheless."""
ENDS: dict[str, tuple[str, Level]] = {
    "cancelled": ("Stopped.", "info"),
    **dict.fromkeys(LIMITS, ("", "warning")),
}
"""What is said of a run without an answer, by the reason, and how grave that is."""

_LONGEST_BODY = 4096  # characters
_MOST_LINES = 20
_LONGEST_CALL = 90  # characters
_LONGEST_VALUE = 48  # characters
_MINUTE = 60  # seconds
_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_SURROGATES = re.compile(r"[\ud800-\udfff]")
_UNFIT = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")


WHY_CUT = {
    "length": "The answer was cut off at the token limit (max_tokens).",
    "budget": "The answer was cut off where the budget ends.",
    "content_filter": "The service cut the answer off for its content.",
    "refusal": "The model refused to answer.",
}
"""What is said of an answer that is not whole, by why the model ended."""
_GUARDED = {"input": "the message", "output": "the answer", "tool": "a tool's text"}


def guard_text(guard: str, stage: str, action: str) -> str:
    """Say what a guard did, in the same words for all the tools of a step."""
    return f"Guard {guard} {action} {_GUARDED.get(stage, 'a text')}."


def retry_text(attempt: int, wait_s: float, reason: str, model: str) -> str:
    """Say what is waited for, or who is asked again."""
    wait = f" in {duration(wait_s)}" if wait_s else ""
    if reason and not (model or attempt or wait):
        return f"{reason[0].upper()}{reason[1:]}"
    if model:
        what = f"Asking {model} instead"
    elif attempt:
        what = f"Trying again{wait}"
    else:
        what = f"Asking{wait or ' a little later'}"
    return f"{what} ({reason})" if reason else what


def capped(text: str) -> str:
    """Cut a text to 20 lines and 4 KB, and say how much was cut."""
    text = clean(text).rstrip()
    lines = text.split("\n")
    kept = "\n".join(lines[:_MOST_LINES])[:_LONGEST_BODY]
    left = len(lines) - kept.count("\n") - 1
    if left > 0:
        noun = "line" if left == 1 else "lines"
        return f"{kept}\n\N{HORIZONTAL ELLIPSIS} {left:,} more {noun}"
    if len(kept) < len(text):
        left = len(text) - len(kept)
        return f"{kept}\n\N{HORIZONTAL ELLIPSIS} {left:,} more characters"
    return kept


def whole(text: str) -> str:
    """Give all of a text, fit to be shown."""
    return clean(text).rstrip()


def call_text(tool: str, args: Mapping[str, Any]) -> str:
    """Give a call in one line, long values shortened."""
    shown = ", ".join(f"{name}={_value(value)}" for name, value in args.items())
    return clean(f"{tool}({shortened(shown, _LONGEST_CALL)})")


def is_whole(args: Mapping[str, Any]) -> bool:
    """Tell whether the line of a call shows its arguments uncut."""
    values = [repr(value) for value in args.values()]
    named = sum(len(name) + len("=, ") for name in args)
    longest = max(map(len, values), default=0)
    return longest <= _LONGEST_VALUE and named + sum(map(len, values)) <= _LONGEST_CALL


def arguments_text(args: Mapping[str, Any]) -> str:
    """Give arguments one below the other; text of several lines stays readable."""
    lines = []
    for name, value in args.items():
        if isinstance(value, str):
            shown = f"\n{indented(value)}" if "\n" in value else f" {value}"
        else:
            shown = f" {json.dumps(value, ensure_ascii=False, default=repr)}"
        lines.append(f"{name}:{shown}")
    return "\n".join(lines)


def quoted(word: str) -> str:
    """Write a name so that the line of a magic takes it for one word."""
    if word and not re.search(r"[\s\"']", word):
        return word
    escaped = re.sub(r'(["\\])', r"\\\1", word)
    return f'"{escaped}"'


def duration(seconds: float | None) -> str:
    """Give a time span as a person says it; empty if it is not known."""
    if seconds is None:
        return ""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < _MINUTE:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), _MINUTE)
    return f"{minutes} min {rest} s"


def moment(at: float | None) -> str:
    """Give a moment, in seconds since the epoch, as a date; empty if it is not known."""
    # One zone for all readers: a notebook is read elsewhere too.
    return "" if at is None else f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M} UTC"


def tokens(usage: Usage | None) -> str:
    """Give what was read and written; empty if it is not known."""
    if usage is None or not (usage.prompt_tokens or usage.completion_tokens):
        return ""
    arrow = "\N{RIGHTWARDS ARROW}"
    return f"{usage.prompt_tokens:,} {arrow} {usage.completion_tokens:,} tokens"


def _value(value: Any) -> str:
    return shortened(repr(value), _LONGEST_VALUE)


def shortened(text: str, size: int) -> str:
    """Cut a text to a size, with an ellipsis."""
    return text if len(text) <= size else text[: size - 1] + "\N{HORIZONTAL ELLIPSIS}"


def indented(text: str) -> str:
    """Put two spaces before each line."""
    return "\n".join(f"  {line}" for line in text.split("\n"))


def clean(text: str) -> str:
    """Drop terminal colours and what no text should have."""
    text = _ANSI.sub("", text.replace("\r\n", "\n"))
    return _UNFIT.sub("\N{REPLACEMENT CHARACTER}", text)


def encodable(value: Any) -> Any:
    """Replace what no message can carry: halves of characters, also deep inside."""
    if isinstance(value, str):
        return _SURROGATES.sub("\N{REPLACEMENT CHARACTER}", value)
    if isinstance(value, Mapping):
        return {encodable(key): encodable(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [encodable(inner) for inner in value]
    return value
