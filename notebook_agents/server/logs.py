"""The server's logger, and the filter that keeps keys out of logs."""

from __future__ import annotations

import contextlib
import logging
import re
import traceback
from collections.abc import Iterable, Iterator

from notebook_agents.providers._failures import KEY_SHAPES, REDACTED

__all__ = ["Redaction", "logger", "redacted_logs"]

logger = logging.getLogger("notebook_agents.server")

SHORTEST = 4  # characters: anything shorter is part of many words
OURS = "notebook_agents"
# A filter sees only what is logged to the very logger it hangs on.
UVICORN = ("uvicorn.error", "uvicorn.access", "uvicorn.asgi")
_LOOKS_LIKE_A_KEY = re.compile(
    r"(?P<before>(?i:\b(?:bearer|token|basic)\s+|[?&](?:token|key|api_key)=))[\w.~+/=-]{8,}"
    rf"|{KEY_SHAPES}"
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
        try:
            message = record.getMessage()
        except Exception:  # noqa: BLE001 - as logging itself, which shows it all
            record.msg, record.args = self.redact(_without_arguments(record)), ()
        else:
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


def _without_arguments(record: logging.LogRecord) -> str:
    """Say that a call of a logger was wrong; its arguments may be secret."""
    template = record.msg if isinstance(record.msg, str) else type(record.msg).__name__
    return f"{template} (its arguments do not fit)"


class _Guard(logging.Handler):
    """Redact what any logger of this package sends up, before others see it.

    It stands at the package's logger, where the records of all loggers below
    pass on their way to the handlers of the process: also of those that are
    made when the server runs already, and so have no filter.
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
    ours = logging.getLogger(OURS)
    loggers = [*map(logging.getLogger, UVICORN), *_all_below(ours)]
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


def _all_below(top: logging.Logger) -> Iterator[logging.Logger]:
    """Give a logger and those below it; each may have handlers of its own."""
    yield top
    for name, each in list(top.manager.loggerDict.items()):
        if name.startswith(f"{top.name}.") and isinstance(each, logging.Logger):
            yield each
