"""Models for tests, made of a function or of nothing at all."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable

from notebook_agents import checks
from notebook_agents.providers.base import ModelRequest
from notebook_agents.providers.scripted import Item, PlayedProvider
from notebook_agents.question import shown

__all__ = ["EchoProvider", "FunctionProvider"]


class FunctionProvider(PlayedProvider):
    """Answer with what a function returns: a model of your own in a few lines.

    Parameters
    ----------
    function : callable
        Called with each `ModelRequest` (its ``messages`` are `Message` values),
        sync or async. Returns an item as in the script of a
        `ScriptedProvider`: a text, a `call`, a list of both, a dict, or an
        exception to raise.
    chunk : int, default 8
        Characters of a streamed piece.
    delay : float, default 0.0
        Seconds before each piece.

    Examples
    --------
    >>> from notebook_agents import Agent
    >>> def shout(request):
    ...     return request.messages[-1].content.upper()
    >>> print(Agent(FunctionProvider(shout)).run_sync("hello"))
    HELLO
    """

    name = "function"

    def __init__(
        self,
        function: Callable[[ModelRequest], Item | Awaitable[Item]],
        *,
        chunk: int = 8,
        delay: float = 0.0,
    ) -> None:
        super().__init__(chunk=chunk, delay=delay)
        checks.function("function", function, "a ModelRequest")
        self._function = function
        self.model = str(getattr(function, "__name__", ""))

    async def item(self, request: ModelRequest) -> Item:
        """Call the function."""
        said = self._function(request)
        return await said if inspect.isawaitable(said) else said


class EchoProvider(PlayedProvider):
    """Answer with what the user said last.

    Parameters
    ----------
    prefix : str, default ""
        Put before it.
    chunk : int, default 8
        Characters of a streamed piece.
    delay : float, default 0.0
        Seconds before each piece.

    Examples
    --------
    >>> from notebook_agents import Agent
    >>> print(Agent(EchoProvider("You said: ")).run_sync("hello"))
    You said: hello
    """

    name = "echo"

    def __init__(self, prefix: str = "", *, chunk: int = 8, delay: float = 0.0) -> None:
        super().__init__(chunk=chunk, delay=delay)
        self._prefix = prefix

    async def item(self, request: ModelRequest) -> Item:
        """Give the last message of the user back."""
        said = (
            shown(m.content) for m in reversed(request.messages) if m.role == "user"
        )
        return f"{self._prefix}{next(said, '')}"
