"""The engine: one loaded model with a thread of its own, asked from any event loop."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import logging
import os
import secrets
import sys
import threading
import weakref
from collections import deque
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from notebook_agents._optional import require
from notebook_agents.errors import AgentProviderError, ModelNotFoundError
from notebook_agents.providers.local.job import Chunk, Job, Work, tokens_of

__all__ = ["Engine", "EngineOptions", "engine_for", "release_engine"]

_EXIT_WAIT = 10.0
"""Seconds that the end of the process waits for an engine to stop."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineOptions:
    """What makes two providers share an engine.

    Parameters
    ----------
    path : Path
        The GGUF file, resolved.
    n_ctx : int
        Size of the context, in tokens.
    n_threads : int or None
        Threads that compute; None lets the engine choose.
    """

    path: Path
    n_ctx: int
    n_threads: int | None


class Engine:
    """A model in memory; requests wait in line, the first come is served first.

    Nothing is loaded before the first request. All work with the model,
    loading included, happens in one daemon thread.

    Parameters
    ----------
    options : EngineOptions
        What to load, and how.
    """

    def __init__(self, options: EngineOptions) -> None:
        self.options = options
        self.holders: weakref.WeakSet[object] = weakref.WeakSet()
        """The providers that use the engine; without any, it may be closed."""
        self._api_key = secrets.token_urlsafe(32)
        self._change = threading.Condition()
        self._line: deque[Job] = deque()
        self._current: Job | None = None
        self._thread: threading.Thread | None = None
        self._is_closed = False
        self._server: Any = None

    def chat(self, body: dict[str, Any]) -> AsyncGenerator[list[Chunk], None]:
        """Send a chat request; what comes is yielded, all that is there each time.

        Parameters
        ----------
        body : dict
            An OpenAI chat request; streaming is added to it.

        Returns
        -------
        async generator of lists of dict
            Chunks in OpenAI's shape, or one with the key ``error``. Closing it
            stops the generation, or takes the request out of the line.
        """
        # Without progress reports the engine calls back, and can be stopped,
        # only when the whole prompt has been read.
        streaming = {
            "stream": True,
            "stream_options": {"include_usage": True},
            "return_progress": True,
        }
        body = body | streaming

        def work(server: Any, job: Job) -> None:
            try:
                server.handle_chat_completions(body, job.receive)
            except (ValueError, RuntimeError) as error:
                # What it cannot even begin with, such as an odd schema, is raised.
                job.receive({"error": {"message": str(error)}})

        return self._run(work)

    async def tokenize(self, text: str) -> list[int] | None:
        """Split a text into the model's tokens; None where that cannot be done.

        Parameters
        ----------
        text : str
            What to split.

        Returns
        -------
        list of int or None
            The tokens.
        """

        def work(server: Any, job: Job) -> None:
            tokens = tokens_of(server.listening_address, self._api_key, text)
            job.receive({"tokens": tokens})

        tokens: list[int] | None = None
        async with contextlib.aclosing(self._run(work)) as batches:
            async for batch in batches:
                tokens = batch[-1]["tokens"]
        return tokens

    async def _run(self, work: Work) -> AsyncGenerator[list[Chunk], None]:
        job = Job(work)
        self._enqueue(job)
        try:
            while batch := await job.next_batch():
                yield batch
        finally:
            job.stop()
            self._forget(job)

    @property
    def is_loaded(self) -> bool:
        """Whether the model is in memory."""
        return self._server is not None

    def close(self) -> None:
        """Fail what runs and what waits, and give back the memory soon."""
        for job in self._end():
            job.fail(_unloaded(self.options))

    def close_at_exit(self) -> threading.Thread | None:
        """Stop without a word; give the thread to wait for."""
        for job in self._end():
            job.abandon()
        return self._thread

    def keep_forever(self) -> bool:
        """Make a loaded model outlive the interpreter.

        In a forked child the engine's threads are gone, and freeing the model
        would wait for them without end.

        Returns
        -------
        bool
            Whether there is one.
        """
        if self._server is None:
            return False
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._server))
        return True

    def _end(self) -> list[Job]:
        with self._change:
            self._is_closed = True
            jobs = [*self._line, *([self._current] if self._current else [])]
            self._line.clear()
            self._change.notify_all()
        return jobs

    def _enqueue(self, job: Job) -> None:
        with self._change:
            if self._is_closed:
                raise _unloaded(self.options)
            self._line.append(job)
            if self._thread is None:
                name = f"notebook-agents {self.options.path.name}"
                self._thread = threading.Thread(
                    target=self._serve, name=name, daemon=True
                )
                self._thread.start()
            self._change.notify_all()

    def _forget(self, job: Job) -> None:
        with self._change, contextlib.suppress(ValueError):
            self._line.remove(job)

    def _serve(self) -> None:
        """Do one job after the other until the engine is closed."""
        while (job := self._next()) is not None:
            try:
                if self._server is None:
                    self._server = self._load()
                if not job.is_stopped:
                    job.work(self._server, job)
            except Exception as error:  # noqa: BLE001 - crosses to the asking thread
                job.fail(error)
            else:
                job.finish()
        self._server = None

    def _next(self) -> Job | None:
        with self._change:
            self._current = None
            self._change.wait_for(lambda: self._line or self._is_closed)
            if self._is_closed:
                return None
            self._current = self._line.popleft()
            return self._current

    def _load(self) -> Any:
        path = self.options.path
        if not path.is_file():
            message = f"There is no model file at {str(path)!r}."
            raise ModelNotFoundError(message)
        xllamacpp = require("xllamacpp", extra="local")
        parameters = xllamacpp.CommonParams()
        _configure(parameters, self.options, self._api_key)
        try:
            return xllamacpp.Server(parameters)
        except RuntimeError as error:
            message = (
                f"{path.name} could not be loaded: it is damaged, no GGUF file, or "
                f"of a kind that this version of xllamacpp does not know."
            )
            raise AgentProviderError(
                message, provider="local", original=error
            ) from error


def _configure(parameters: Any, options: EngineOptions, api_key: str) -> None:
    parameters.model.path = str(options.path)
    parameters.n_ctx = options.n_ctx
    if options.n_threads is not None:
        parameters.cpuparams.n_threads = options.n_threads
    parameters.n_parallel = 1
    # Small steps through the prompt: each is a chance to stop.
    parameters.n_batch = parameters.n_ubatch = 128
    parameters.warmup = False
    parameters.verbosity = -1
    # Prompts seen before are kept, but not in gigabytes as by default.
    parameters.cache_ram_mib = 128
    # The engine always opens an HTTP port on the loopback interface (leaving out
    # the address crashes it), so nobody else gets to use it: a key that never
    # leaves this process, no page, no view of the prompts.
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    parameters.api_keys = [api_key]
    parameters.ui = False
    parameters.endpoint_slots = False
    parameters.endpoint_props = False
    parameters.endpoint_metrics = False


def _unloaded(options: EngineOptions) -> AgentProviderError:
    message = f"{options.path.name} was unloaded before it had answered. Run it again."
    return AgentProviderError(message, provider="local", retryable=True)


class _Engines:
    """The engines of this process, one for each set of options."""

    def __init__(self) -> None:
        self._has_lost_threads = False
        self._reset()

    def _reset(self) -> None:
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._engines: dict[EngineOptions, Engine] = {}

    def _check_process(self) -> None:
        if self._process != os.getpid():
            kept = [engine.keep_forever() for engine in self._engines.values()]
            self._has_lost_threads = self._has_lost_threads or any(kept)
            self._reset()

    def get(self, options: EngineOptions, holder: object) -> Engine:
        self._check_process()
        with self._lock:
            engine = self._engines.get(options)
            if engine is None:
                engine = self._engines[options] = Engine(options)
            engine.holders.add(holder)
            return engine

    def release(self, options: EngineOptions, holder: object, *, force: bool) -> None:
        self._check_process()
        with self._lock:
            engine = self._engines.get(options)
            if engine is None:
                return
            engine.holders.discard(holder)
            if engine.holders and not force:
                return
            del self._engines[options]
        engine.close()

    def close_all(self) -> None:
        self._check_process()
        if self._has_lost_threads:
            _leave_forked_child()
        with self._lock:
            engines = list(self._engines.values())
            self._engines.clear()
        for thread in [engine.close_at_exit() for engine in engines]:
            if thread is not None:
                thread.join(_EXIT_WAIT)


def _leave_forked_child() -> NoReturn:
    """End a forked child of a process that had a model loaded.

    The native library's own clean-up would hang or crash for want of its
    threads. The exit code is 1 after an uncaught error and 0 otherwise; a child
    that needs another one ends by `os._exit`, as those of multiprocessing do.
    """
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    os._exit(1 if hasattr(sys, "last_value") else 0)


# One set a process, because a model in memory is shared by all agents in it.
_ENGINES = _Engines()
# A native thread that calls back into an interpreter that is gone would crash.
atexit.register(_ENGINES.close_all)


def engine_for(options: EngineOptions, holder: object) -> Engine:
    """Give the engine for these options; made, but not loaded, if need be.

    Parameters
    ----------
    options : EngineOptions
        What to load, and how.
    holder : object
        Who uses it; kept by a weak reference.

    Returns
    -------
    Engine
        The one that all with these options share.
    """
    return _ENGINES.get(options, holder)


def release_engine(
    options: EngineOptions, holder: object, *, force: bool = False
) -> None:
    """Say that an engine is no longer used; the last one to say so frees it.

    Parameters
    ----------
    options : EngineOptions
        What was loaded.
    holder : object
        Who used it.
    force : bool
        Free it although others use it; theirs is loaded anew when asked.
    """
    _ENGINES.release(options, holder, force=force)
