"""What an error of Google says in its details: how long to wait, and why it failed.

::

    {"code": 429, "message": "...", "status": "RESOURCE_EXHAUSTED", "details": [
        {"@type": ".../QuotaFailure", "violations": [{"quotaId": "...PerMinute..."}]},
        {"@type": ".../RetryInfo", "retryDelay": "17s"}]}
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from notebook_agents.providers._json_values import mappings

__all__ = ["told_reasons", "told_wait"]

_SECONDS = re.compile(r"(\d+(?:\.\d+)?)s").fullmatch


def told_wait(error: Mapping[str, Any]) -> float | None:
    """Read how long to wait.

    Parameters
    ----------
    error : mapping
        The parsed error.

    Returns
    -------
    float or None
        Seconds; None if it does not say.

    Examples
    --------
    >>> told_wait({"details": [{"@type": "x/RetryInfo", "retryDelay": "17s"}]})
    17.0
    """
    for detail in mappings(error.get("details")):
        if found := _SECONDS(str(detail.get("retryDelay"))):
            return float(found[1])
    return None


def told_reasons(error: Mapping[str, Any]) -> str:
    """Read the words for why it failed.

    Parameters
    ----------
    error : mapping
        The parsed error.

    Returns
    -------
    str
        Such as ``"INVALID_ARGUMENT API_KEY_INVALID"``; empty if it names none.
    """
    status = error.get("status")
    words = [status] if isinstance(status, str) else []
    for detail in mappings(error.get("details")):
        words.append(str(detail.get("reason", "")))
        words += ["retryDelay"] if detail.get("retryDelay") else []
        for violation in mappings(detail.get("violations")):
            words.append(str(violation.get("quotaId", "")))
    return " ".join(words)
