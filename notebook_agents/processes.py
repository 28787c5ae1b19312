"""Which process this is, and whether another one still runs."""

from __future__ import annotations

import functools
import os
import socket
import sys
from pathlib import Path

__all__ = ["is_running", "this_process"]

_STILL_ACTIVE = 259
_QUERY_LIMITED_INFORMATION = 0x1000


def this_process() -> str:
    """Name this process so that no other one has the same name, ever.

    Returns
    -------
    str
        Machine, number and, where it can be known, the moment it began.
    """
    return _own_name(os.getpid())


def is_running(process: str) -> bool:
    """Tell whether a process may still be at work.

    Parameters
    ----------
    process : str
        As `this_process` named it.

    Returns
    -------
    bool
        True also where that cannot be known, as for another machine.

    Examples
    --------
    >>> is_running(this_process())
    True
    """
    machine, _, rest = process.rpartition("/")
    number = rest.partition("@")[0]
    if machine != socket.gethostname() or not number.isdigit():
        return True
    return _exists(int(number)) and _name(int(number)) == process


@functools.cache
def _own_name(number: int) -> str:
    """Name this process, which a fork of it is not; each run asks for it."""
    return _name(number)


def _name(number: int) -> str:
    return f"{socket.gethostname()}/{number}@{_began(number)}"


def _began(number: int) -> str:
    """Tell a process from a later one of the same number, where Linux says how."""
    try:
        status = Path(f"/proc/{number}/stat").read_text("utf-8", "replace")
    except OSError:
        return ""
    # The name, in brackets, may hold anything; the 20th word after it is the moment.
    return status.rpartition(")")[2].split()[19]


def _exists(number: int) -> bool:
    if sys.platform == "win32":
        return _exists_on_windows(number)
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # it is there, and somebody else's
        return True
    return not _is_dead(number)


def _is_dead(number: int) -> bool:
    """Tell whether a process has ended and only its parent has not noticed."""
    try:
        status = Path(f"/proc/{number}/stat").read_text("utf-8", "replace")
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] in {"Z", "X"}


def _exists_on_windows(number: int) -> bool:
    import ctypes

    windows = getattr(ctypes, "windll").kernel32  # noqa: B009 - not there elsewhere
    handle = windows.OpenProcess(_QUERY_LIMITED_INFORMATION, False, number)  # noqa: FBT003
    if not handle:
        return False
    code = ctypes.c_ulong()
    windows.GetExitCodeProcess(handle, ctypes.byref(code))
    windows.CloseHandle(handle)
    return code.value == _STILL_ACTIVE
