"""Every error that this package raises, as one tree.

::

    NotebookAgentsError
    ├── AgentConfigurationError          missing or wrong settings
    │   ├── MissingExtraError            an optional package is not installed
    │   ├── MissingFileError             a file that a setting names is not there
    │   ├── ModelNotFoundError           the named model or its weights are not there
    │   ├── ProviderSetupError           a provider lacks its key or its URL
    │   ├── UnknownOptionError           no option of that name; is a ``TypeError``
    │   └── UnusableFileError            a file cannot be written there; an ``OSError``
    ├── AgentProviderError               the model service failed
    │   ├── NoModelAnsweredError         each of several models failed
    │   ├── ProviderAuthError            the key was refused
    │   ├── ProviderRateLimitError       too many requests; see ``retry_after``
    │   ├── ProviderTimeoutError         no answer in time
    │   ├── ProviderReplyError           the reply could not be read
    │   │   ├── OutputValidationError    the answer is not of the type asked for
    │   │   └── StreamInterruptedError   the reply ended before its end
    │   ├── ContextLengthError           the conversation does not fit the model
    │   └── ContentFilteredError         the service blocked the whole reply
    ├── ToolError                        what the model sees is ``str(error)``
    │   ├── ToolNotFoundError            no tool of that name
    │   ├── ToolArgumentsError           arguments that do not fit the signature
    │   ├── ToolRetry                    a tool asks the model for another try
    │   ├── ToolTimeoutError             the tool took too long
    │   └── ToolRejectedError            a person or a rule said no
    ├── AnswerFormatError                the answer cannot be read as what was asked for
    ├── GuardrailBlockedError            a guard stopped the text
    ├── RunCancelledError                the run was stopped
    ├── MemoryStoreError                 the store failed (not "not found")
    ├── HistoryError                     what was said before could not be prepared
    └── ServerError
        └── ServerStartError             the server did not come up

The message comes first and says what to do next; facts are keyword-only and
kept as attributes.
"""

from __future__ import annotations

from typing import Any

__all__ = [
    "AgentAPIProviderError",
    "AgentConfigurationError",
    "AgentProviderError",
    "AnswerFormatError",
    "ContentFilteredError",
    "ContextLengthError",
    "GuardrailBlockedError",
    "HistoryError",
    "MemoryStoreError",
    "MissingExtraError",
    "MissingFileError",
    "ModelNotFoundError",
    "NoModelAnsweredError",
    "NotebookAgentsError",
    "OutputValidationError",
    "ProviderAuthError",
    "ProviderRateLimitError",
    "ProviderReplyError",
    "ProviderSetupError",
    "ProviderTimeoutError",
    "RunCancelledError",
    "ServerError",
    "ServerStartError",
    "StreamInterruptedError",
    "ToolArgumentsError",
    "ToolError",
    "ToolNotFoundError",
    "ToolRejectedError",
    "ToolRetry",
    "ToolTimeoutError",
    "UnknownOptionError",
    "UnusableFileError",
]


class NotebookAgentsError(Exception):
    """The root of every error of this package."""

    def __init__(self, message: str = "") -> None:
        super().__init__(message)

    def __reduce__(self) -> tuple[Any, ...]:
        # Keyword-only facts would be lost by the default pickling.
        return _rebuild, (type(self), self.args, self.__dict__)

    def _render_traceback_(self) -> list[str]:
        """Show one line in a notebook instead of a wall of frames."""
        return [f"{type(self).__name__}: {self}"]


def _rebuild(
    cls: type[NotebookAgentsError], args: tuple[Any, ...], facts: dict[str, Any]
) -> NotebookAgentsError:
    error = cls(*args)
    error.__dict__.update(facts)
    return error


class AgentConfigurationError(NotebookAgentsError, ValueError):
    """A setting is missing or wrong; over HTTP this is a 500."""


class MissingExtraError(AgentConfigurationError, ImportError):
    """An optional package is not installed; the message names the extra.

    Attributes
    ----------
    extra : str
        The extra to install, as in ``pip install 'notebook-agents[extra]'``.
    """

    def __init__(self, message: str = "", *, extra: str = "") -> None:
        super().__init__(message)
        self.extra = extra


class MissingFileError(AgentConfigurationError, FileNotFoundError):
    """A file that a setting names is not there."""


class ModelNotFoundError(AgentConfigurationError):
    """The named model, or the file that holds its weights, is not there."""


class ProviderSetupError(AgentConfigurationError):
    """A provider lacks the key or the URL that a request needs."""


class UnknownOptionError(AgentConfigurationError, TypeError):
    """A keyword that is none; the message says which one may have been meant."""


class UnusableFileError(AgentConfigurationError, OSError):
    """A file cannot be written where it was named."""


class AgentProviderError(NotebookAgentsError, RuntimeError):
    """A model service failed; over HTTP this is a 502.

    Attributes
    ----------
    provider : str
        Name of the provider, empty if unknown.
    provider_status : int or None
        HTTP status of the service's answer.
    status_code : int
        HTTP status that a server of ours answers with.
    retryable : bool
        Whether the same request may succeed later.
    original : BaseException or None
        The error underneath.
    """

    def __init__(
        self,
        message: str = "",
        *,
        provider: str = "",
        provider_status: int | None = None,
        status_code: int = 502,
        retryable: bool = False,
        original: BaseException | None = None,
    ) -> None:
        super().__init__(message)
        self.provider = provider
        self.provider_status = provider_status
        self.status_code = status_code
        self.retryable = retryable
        self.original = original


AgentAPIProviderError = AgentProviderError


class NoModelAnsweredError(AgentProviderError):
    """Each model of a `FallbackProvider` failed; the message says how each did.

    Attributes
    ----------
    errors : tuple of Exception
        What went wrong with each, in the order in which they were asked.
    """

    def __init__(
        self, message: str = "", *, errors: tuple[Exception, ...] = (), **facts: Any
    ) -> None:
        super().__init__(message, **facts)
        self.errors = errors


class ProviderAuthError(AgentProviderError):
    """The service refused the key."""


class ProviderRateLimitError(AgentProviderError):
    """The service asks to slow down.

    Attributes
    ----------
    retry_after : float or None
        Seconds to wait, if the service said so.
    """

    def __init__(
        self, message: str = "", *, retry_after: float | None = None, **facts: Any
    ) -> None:
        super().__init__(message, **facts)
        self.retry_after = retry_after


class ProviderTimeoutError(AgentProviderError, TimeoutError):
    """The service did not answer in time; over HTTP this is a 504."""


class ProviderReplyError(AgentProviderError):
    """The reply of the service could not be read."""


class OutputValidationError(ProviderReplyError):
    """The answer is not of the type that was asked for.

    Attributes
    ----------
    text : str
        What the model said last.
    problems : tuple of str
        What was wrong with each of its answers.
    result : AgentResult or None
        What else there was; its ``output`` is None.
    """

    def __init__(
        self,
        message: str = "",
        *,
        text: str = "",
        problems: tuple[str, ...] = (),
        result: Any = None,
        **facts: Any,
    ) -> None:
        super().__init__(message, **facts)
        self.text = text
        self.problems = problems
        self.result = result


class StreamInterruptedError(ProviderReplyError):
    """A streamed reply ended before the service said that it was complete."""


class ContextLengthError(AgentProviderError):
    """The conversation is longer than the model can read."""


class ContentFilteredError(AgentProviderError):
    """The service blocked the whole reply; the message names its reason."""


class ToolError(NotebookAgentsError):
    """A tool call failed; the model sees the message and may react.

    Attributes
    ----------
    tool : str
        Name of the tool.
    """

    def __init__(self, message: str = "", *, tool: str = "") -> None:
        super().__init__(message)
        self.tool = tool


class ToolNotFoundError(ToolError):
    """The model called a tool that the agent does not have."""


class ToolArgumentsError(ToolError):
    """The arguments do not fit the tool's signature."""


class ToolRetry(ToolError):  # noqa: N818 - a request, and short, as tools raise it
    """Raised by a tool: what to do better, for the model to try again.

    The model gets the message as it is. ``@tool(retries=n)`` says how often in a
    run; after that, the call is a plain failure.

    Examples
    --------
    >>> from datetime import date
    >>> from notebook_agents import ToolRetry, tool
    >>> @tool
    ... def sales_on(day: str) -> str:
    ...     "Tell the sales of a day."
    ...     try:
    ...         return f"sales of {date.fromisoformat(day):%A}"
    ...     except ValueError:
    ...         raise ToolRetry("Write the day as YYYY-MM-DD.") from None
    >>> sales_on("2025-01-06")
    'sales of Monday'
    """


class ToolTimeoutError(ToolError, TimeoutError):
    """The tool did not finish in the time that ``@tool(timeout=)`` gives it."""


class ToolRejectedError(ToolError):
    """A person, a rule or the absence of a person denied the call."""


class AnswerFormatError(NotebookAgentsError, ValueError):
    """The answer of a run cannot be read as what was asked for.

    Attributes
    ----------
    result : AgentResult or None
        The outcome of the run, with the text as it is.
    """

    def __init__(self, message: str = "", *, result: Any = None) -> None:
        super().__init__(message)
        self.result = result


class GuardrailBlockedError(NotebookAgentsError, ValueError):
    """A guard stopped the text, of which nothing is told.

    A guard of your own raises it with a reason as its message, which is told to
    whoever asked: keep the text out of it.

    Attributes
    ----------
    guard : str
        Name of the guard.
    stage : str
        ``"input"``, ``"output"`` or ``"tool"``.
    reason : str
        Why, in the words of the guard; empty if it gave none.
    result : AgentResult or None
        What there was by then, with ``is_blocked`` set, if a run ended so.
    """

    def __init__(
        self,
        message: str = "",
        *,
        guard: str = "",
        stage: str = "",
        reason: str = "",
        result: Any = None,
    ) -> None:
        super().__init__(message)
        self.guard = guard
        self.stage = stage
        self.reason = reason
        self.result = result


class RunCancelledError(NotebookAgentsError):
    """The run was stopped before it had an answer.

    Attributes
    ----------
    result : AgentResult or None
        What there was by then, its ``stop_reason`` being ``"cancelled"``.
    """

    def __init__(self, message: str = "", *, result: Any = None) -> None:
        super().__init__(message)
        self.result = result


class MemoryStoreError(NotebookAgentsError):
    """A memory store failed, which is not the same as finding nothing."""


class HistoryError(NotebookAgentsError):
    """A history processor failed; nothing was sent, and what is stored stays."""


class ServerError(NotebookAgentsError):
    """Something about serving failed."""


class ServerStartError(ServerError, RuntimeError):
    """The server did not come up; the message holds the cause."""
