"""What a client hears when something goes wrong: enough, and nothing secret.

The server's log keeps the traceback under the trace that the client is told.
"""

from __future__ import annotations

import http
import logging
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from notebook_agents.errors import (
    AgentConfigurationError,
    AgentProviderError,
    GuardrailBlockedError,
    RunCancelledError,
)
from notebook_agents.events import ObservationEvent, ToolErrorEvent
from notebook_agents.server.logs import logger
from notebook_agents.server.schemas import ErrorResponse

__all__ = ["CatchFailures", "Failure", "Refusal", "public_text", "report"]

RAISED = "raised"
FAILED = "Tool execution failed: "
LOG_HINT = "The server's log has more under the trace {trace_id}."


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """One failure, as it leaves the server.

    Parameters
    ----------
    status : int
        HTTP status.
    error : str
        A name to test for.
    detail : str
        One sentence for a person.
    trace_id : str
        What to look for in the log.
    run_id : str or None
        The run it is about.
    headers : dict
        Response headers, such as ``Retry-After``.
    """

    status: int
    error: str
    detail: str
    trace_id: str = field(default_factory=lambda: uuid.uuid4().hex)
    run_id: str | None = None
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def body(self) -> ErrorResponse:
        """What a response or a stream carries."""
        return ErrorResponse(
            error=self.error,
            detail=self.detail,
            trace_id=self.trace_id,
            run_id=self.run_id,
        )

    def to_response(self) -> Response:
        """Answer a request with it."""
        return JSONResponse(
            self.body.model_dump(exclude_none=True),
            status_code=self.status,
            headers=self.headers,
        )


class Refusal(HTTPException):
    """A request that gets a failure for an answer.

    Parameters
    ----------
    status : int
        HTTP status.
    error : str
        A name to test for.
    detail : str
        One sentence for a person.
    run_id : str, optional
        The run it is about.
    headers : dict, optional
        Response headers.
    """

    def __init__(
        self,
        status: int,
        error: str,
        detail: str,
        *,
        run_id: str | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(status, detail, headers)
        self.failure = Failure(
            status=status,
            error=error,
            detail=detail,
            run_id=run_id,
            headers=headers or {},
        )

    @classmethod
    def because_of(cls, failure: Failure) -> Refusal:
        """Refuse with a failure that is written already."""
        refusal = cls(failure.status, failure.error, failure.detail)
        refusal.failure = failure
        return refusal


def timed_out(seconds: float, *, run_id: str | None = None) -> Failure:
    """Tell that an agent took too long."""
    return Failure(
        status=504,
        error="TimeoutError",
        detail=f"Agent did not respond within {seconds}s.",
        run_id=run_id,
    )


def shutting_down(*, run_id: str | None = None) -> Failure:
    """Tell that the server stops."""
    return Failure(
        status=503,
        error="ServerShutdown",
        detail="The server is shutting down.",
        run_id=run_id,
        headers={"Retry-After": "5"},
    )


def report(error: BaseException, *, run_id: str | None = None) -> Failure:
    """Log an error and tell it without its words, which may hold a secret.

    Parameters
    ----------
    error : BaseException
        What was raised.
    run_id : str, optional
        The run it is about.

    Returns
    -------
    Failure
        Fit for a client.
    """
    status, name, sentence = _kind(error)
    trace_id = uuid.uuid4().hex
    if not isinstance(error, RunCancelledError | GuardrailBlockedError):
        level = (
            logging.ERROR
            if status == http.HTTPStatus.INTERNAL_SERVER_ERROR
            else logging.WARNING
        )
        subject = f"run {run_id}" if run_id else "a request"
        logger.log(level, "%s failed, trace %s", subject, trace_id, exc_info=error)
        sentence = f"{sentence} {LOG_HINT.format(trace_id=trace_id)}"
    return Failure(
        status=status, error=name, detail=sentence, trace_id=trace_id, run_id=run_id
    )


def _kind(error: BaseException) -> tuple[int, str, str]:
    name = type(error).__name__
    if isinstance(error, AgentConfigurationError):
        return 500, "AgentConfigurationError", "The agent is not set up correctly."
    if isinstance(error, TimeoutError):
        return 504, name, "The model service or a store did not answer in time."
    if isinstance(error, AgentProviderError):
        # The status of the model service is no business of the client: its 401
        # would look like one of ours.
        return 502, name, "The model service failed."
    if isinstance(error, RunCancelledError):
        return 409, name, "The run was stopped."
    if isinstance(error, GuardrailBlockedError):
        # What services of models answer for what they filter themselves. The
        # words are fit for a client, as every guard has been told to see to.
        return 400, name, str(error)
    return 500, "InternalServerError", "Something went wrong."


def public_text(event: ObservationEvent | ToolErrorEvent) -> str:
    """Give what a client may read of the end of a call.

    The words of an exception that a tool raised stay here: they may name
    files, hosts and keys.

    Parameters
    ----------
    event : ObservationEvent or ToolErrorEvent
        The end of a call.

    Returns
    -------
    str
        The text, or the class of the exception.
    """
    if isinstance(event, ToolErrorEvent):
        raised = event.reason == RAISED
        return event.error.partition(":")[0] if raised else event.error
    before, mark, words = event.content.partition(FAILED)
    if event.failed and mark:
        return before + mark + words.partition(":")[0]
    return event.content


class CatchFailures:
    """Answer what nobody else caught with a 500 that tells nothing.

    Parameters
    ----------
    app : ASGI application
        What may fail.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and answer if it fails."""
        has_begun = False

        async def watched(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            await send(message)

        try:
            await self._app(scope, receive, watched)
        except Exception as error:
            if has_begun:
                raise
            await report(error).to_response()(scope, receive, send)


def add_failure_handlers(app: FastAPI) -> None:
    """Give every refusal of an application the same shape."""

    @app.exception_handler(HTTPException)
    async def refused(_request: Request, error: HTTPException) -> Response:
        if isinstance(error, Refusal):
            return error.failure.to_response()
        phrase = http.HTTPStatus(error.status_code).phrase.title().replace(" ", "")
        failure = Failure(
            status=error.status_code,
            error=phrase,
            detail=str(error.detail),
            headers=dict(error.headers or {}),
        )
        return failure.to_response()

    @app.exception_handler(RequestValidationError)
    async def invalid(_request: Request, error: RequestValidationError) -> Response:
        return invalid_request(error.errors()).to_response()


def _place(path: Sequence[str | int]) -> str:
    """Name a field; a number in front counts the bytes of a body that is no JSON."""
    is_field = bool(path) and isinstance(path[0], str)
    return ".".join(map(str, path)) if is_field else "body"


def invalid_request(problems: Any) -> Failure:
    """Tell what is wrong with a request, without repeating what it said."""
    lines = [f"{_place(problem['loc'][1:])}: {problem['msg']}" for problem in problems]
    return Failure(status=422, error="ValidationError", detail="; ".join(lines))
