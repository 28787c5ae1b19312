"""Connections to model services, one set for each event loop and origin.

They are shared by everything that runs on the loop, and closed with it.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import functools
import importlib
import os
import ssl
import threading
import urllib.request
import weakref
from collections.abc import AsyncGenerator, Iterable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from urllib.parse import unquote, urlsplit

import httpx

from notebook_agents.checks import fail, shown
from notebook_agents.errors import AgentConfigurationError, MissingFileError
from notebook_agents.providers._httpcore import HttpcoreWire
from notebook_agents.providers._wire import Proxy, Wire
from notebook_agents.providers.discovery import is_loopback

__all__ = ["Verify", "check_certificates", "fast_library", "shared_wire"]

Verify = bool | str | os.PathLike[str] | ssl.SSLContext

EXIT_SECONDS = 0.5
"""How long the interpreter waits for connections to close."""

_wires: weakref.WeakKeyDictionary[
    asyncio.AbstractEventLoop, dict[tuple[str, int], _Held]
] = weakref.WeakKeyDictionary()
_lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class _Held:
    """A wire, and the generator that closes it when the loop ends."""

    wire: Wire
    keeper: AsyncGenerator[None, None]


async def shared_wire(url: str, verify: Verify) -> Wire:
    """Give the wire of this loop to an origin, made now if there is none.

    Parameters
    ----------
    url : str
        Where a request goes.
    verify : bool, str, path or SSLContext
        How to know the server; a path is that of certificates to trust.

    Returns
    -------
    Wire
        To send requests with; it is closed with the loop.
    """
    parts = urlsplit(url)
    context = _context(verify) if parts.scheme == "https" else _plain_context()
    loop = asyncio.get_running_loop()
    key = (f"{parts.scheme}://{parts.netloc}", id(context))
    held = _wires.get(loop, {}).get(key)
    if held is not None:
        return held.wire
    wire = _new_wire(context, _proxy_for(url))
    keeper = _keep(loop, key, wire)
    with _lock:
        # It knows its loop, so the entry of a closed loop keeps itself alive.
        for other in [other for other in _wires if other.is_closed()]:
            del _wires[other]
        _wires.setdefault(loop, {})[key] = _Held(wire, keeper)
    await anext(keeper)
    _close_at_exit(os.getpid())
    return wire


async def _keep(
    loop: asyncio.AbstractEventLoop, key: tuple[str, int], wire: Wire
) -> AsyncGenerator[None, None]:
    """Close a wire when the loop shuts its generators down, as a run does."""
    try:
        yield
    finally:
        with _lock:
            held = _wires.get(loop, {})
            if key in held and held[key].wire is wire:
                del held[key]
        await wire.aclose()


@functools.cache
def _close_at_exit(process: int) -> None:
    atexit.register(_close_all, process)


def _close_all(process: int) -> None:
    """Close what a loop in another thread has, which ends with the process only."""
    if os.getpid() != process:
        return  # those threads are not in this fork of it
    for loop, held in list(_wires.items()):
        if loop.is_running():
            closing = asyncio.run_coroutine_threadsafe(_close(held.values()), loop)
            with contextlib.suppress(TimeoutError):
                closing.result(EXIT_SECONDS)


async def _close(held: Iterable[_Held]) -> None:
    for each in list(held):
        await each.wire.aclose()


def _new_wire(context: ssl.SSLContext, proxy: Proxy | None) -> Wire:
    fast = fast_library()
    if fast is None or (proxy is not None and not proxy.url.startswith("http")):
        return HttpcoreWire(context, proxy)  # which knows SOCKS, too
    wire: Wire = fast.AiohttpWire(context, proxy)
    return wire


@functools.cache
def fast_library() -> ModuleType | None:
    """Give what sends requests over aiohttp, if that is installed."""
    try:
        return importlib.import_module("notebook_agents.providers._aiohttp")
    except ImportError:
        return None


def _proxy_for(url: str) -> Proxy | None:
    """Look up which proxy the environment names; none leads to this machine."""
    parts = urlsplit(url)
    if is_loopback(parts.hostname) or urllib.request.proxy_bypass(parts.netloc):
        return None
    proxies = urllib.request.getproxies()
    found = proxies.get(parts.scheme) or proxies.get("all")
    if not found:
        return None
    named = urlsplit(found if "://" in found else f"http://{found}")
    return Proxy(
        url=named._replace(netloc=named.netloc.rpartition("@")[2]).geturl(),
        user=unquote(named.username or ""),
        password=unquote(named.password or ""),
    )


# ------------------------------------------------------------------- certificates


@functools.cache
def _plain_context() -> ssl.SSLContext:
    """Give a context for plain HTTP: httpx wants one, and loading CAs is slow."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def check_certificates(verify: Verify) -> None:
    """Refuse a path of certificates where there are none.

    Parameters
    ----------
    verify : bool, str, path or SSLContext
        As in `shared_wire`.

    Raises
    ------
    AgentConfigurationError
        If it is something else.
    MissingFileError
        If there is no such file or folder.
    """
    given: object = verify
    if not isinstance(given, bool | str | os.PathLike | ssl.SSLContext):
        fail(f"verify is {shown(given)}; pass False, a path or an SSLContext.")
    if isinstance(verify, str | os.PathLike) and not Path(verify).expanduser().exists():
        message = (
            f"There are no certificates at {str(verify)!r}. Correct the path, which "
            "verify= or CA_BUNDLE_PATH names, or leave it out."
        )
        raise MissingFileError(message)


def _context(verify: Verify) -> ssl.SSLContext:
    if isinstance(verify, ssl.SSLContext):
        return verify
    return _made_context(verify if isinstance(verify, bool) else str(verify))


@functools.lru_cache(maxsize=8)
def _made_context(verify: bool | str) -> ssl.SSLContext:  # noqa: FBT001 - a cache key
    if isinstance(verify, bool):
        return httpx.create_ssl_context(verify=verify)
    path = Path(verify).expanduser()
    try:
        if path.is_dir():
            return ssl.create_default_context(capath=str(path))
        return ssl.create_default_context(cafile=str(path))
    except OSError as error:  # ssl.SSLError is one
        message = f"The certificates {verify!r} cannot be read: {error}"
        raise AgentConfigurationError(message) from error
