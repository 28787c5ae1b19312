"""What scripts in the environment of the SDKs share; they know nothing of this package."""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass
class Seen:
    """What an SDK made of one reply."""

    text: str = ""
    calls: list[tuple[str, Any]] = field(default_factory=list)
    status: int = 200
    error: str = ""


def run(ask: Callable[[str, dict[str, Any]], Seen]) -> None:
    """Ask for all that is named on standard input; tell what came of it."""
    task = json.load(sys.stdin)
    seen = {}
    for each in task["scenarios"]:
        try:
            seen[each["name"]] = asdict(ask(task["url"], each))
        except Exception:  # noqa: BLE001 - whatever it is, it is told
            seen[each["name"]] = asdict(Seen(error=traceback.format_exc()))
    json.dump(seen, sys.stdout)
