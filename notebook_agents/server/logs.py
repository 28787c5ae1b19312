"""The server's logger, and the filter that keeps keys out of logs."""

from __future__ import annotations

import contextlib
import logging
import re
import traceback
from collections.abc import Iterable, Iterator

__all__ = ["Redaction", "logger", "redacted_logs"]

logger = logging.getLogger("notebook_agents.server")

REDACTED = "[redacted]"
SHORTEST = 4  # characters: anything shorter is part of many words
OURS = "notebook_agents"
# A filter sees only what is logged to the very logger it hangs on.
UVICORN = ("uvicorn.error", "uvicorn.access", "uvicorn.asgi")
_LOOKS_LIKE_A_KEY = re.compile(
    r"(?i)(?P<before>\b(?:bearer|token|basic)\s+|[?&](?:token|key|api_key)=)[\w.~+/=-]{8,}"
    r"|\bsk-[\w-]{8,}"
)


class Redaction(logging.Filter):
    """Take keys out of log records, tracebacks included.

    Parameters
    ----------
    secrets : iterable of str
        What must not be seen, besides whatever looks like a key.

    Examples
    --------
    >>> Redaction(["hunter2"]).redact("the key is hunter2")
    'the key is [redacted]'
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        super().__init__()
        # The longest first: one may be a part of another.
        known = sorted(
            {s for s in secrets if len(s) >= SHORTEST}, key=len, reverse=True
        )
        self._known = re.compile("|".join(map(re.escape, known))) if known else None

    def redact(self, text: str) -> str:
        """Give a text without keys.

        Parameters
        ----------
        text : str
            Any text.

        Returns
        -------
        str
            The same, with each key replaced.
        """
        if self._known is not None:
            text = self._known.sub(REDACTED, text)
        return _LOOKS_LIKE_A_KEY.sub(
            lambda match: (match["before"] or "") + REDACTED, text
        )

    def filter(self, record: logging.LogRecord) -> bool:
        """Rewrite a record that holds a key; let every record through."""
        message = record.getMessage()
        clean = self.redact(message)
        if clean != message:
            record.msg, record.args = clean, ()
        if record.exc_info and record.exc_info[1] is not None:
            text = "".join(traceback.format_exception(record.exc_info[1])).rstrip()
            clean = self.redact(text)
            if clean != text:
                # Whoever formats the record must not see the exception itself.
                record.exc_text, record.exc_info = clean, None
        return True


class _Guard(logging.Handler):
    """Redact what any logger of this package sends up, before others see it.

    It stands at the package's logger, where the records of all loggers below
    pass on their way to the handlers of the process.
    """

    def __init__(self) -> None:
        super().__init__()
        self.redactions: list[Redaction] = []

    def handle(self, record: logging.LogRecord) -> bool:
        for redaction in tuple(self.redactions):
            redaction.filter(record)
        # With this handler, logging takes the process for one that has some.
        last = logging.lastResort
        if last is not None and not _has_others(self) and record.levelno >= last.level:
            last.handle(record)
        return True


def _has_others(guard: logging.Handler) -> bool:
    own = logging.getLogger(OURS)
    return bool(logging.root.handlers) or any(h is not guard for h in own.handlers)


_guard = _Guard()


@contextlib.contextmanager
def redacted_logs(secrets: Iterable[str]) -> Iterator[None]:
    """Keep secrets out of the logs of serving while the block runs.

    Parameters
    ----------
    secrets : iterable of str
        What must not be seen.

    Yields
    ------
    None
        Nothing.
    """
    redaction = Redaction(secrets)
    loggers, ours = (
        [logging.getLogger(name) for name in UVICORN],
        logging.getLogger(OURS),
    )
    for each in loggers:
        each.addFilter(redaction)
    _guard.redactions.append(redaction)
    if _guard not in ours.handlers:
        ours.handlers.insert(0, _guard)
    try:
        yield
    finally:
        for each in loggers:
            each.removeFilter(redaction)
        _guard.redactions.remove(redaction)
        if not _guard.redactions:
            ours.removeHandler(_guard)
