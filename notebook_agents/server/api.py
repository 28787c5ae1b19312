"""`AgentAPI`: a FastAPI application whose handlers may answer with an agent."""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable
from typing import Any, TypeVar

from fastapi import FastAPI, Request
from fastapi.responses import StreamingResponse
from starlette.responses import Response

from notebook_agents import checks
from notebook_agents.server.branding import Pages
from notebook_agents.server.endpoints import endpoint_of, is_json, said, signature_of
from notebook_agents.server.text_stream import (
    ANSWERED,
    CHUNK_SIZE,
    TextStreamResponse,
    failure_response,
)

__all__ = ["AgentAPI"]

H = TypeVar("H", bound=Callable[..., Any])

_STREAMED: dict[int | str, dict[str, Any]] = {
    200: {
        "content": {"text/event-stream": {"schema": {"type": "string"}}},
        "description": "Text as `data:` lines, and `data: [DONE]` at the end.",
    },
}


class AgentAPI(FastAPI):
    r"""A FastAPI application with routes for agents.

    Everything of FastAPI works as it does there. `chat` and `stream` add
    ``POST`` routes whose handlers may return what an agent gives.

    Parameters
    ----------
    title : str, default "AgentAPI"
        Name of the application.
    description : str, default "AgentAPI application"
        What it is for.
    version : str, default "0.1.0"
        Its version.
    docs_url, redoc_url : str or None
        Where the two documentation pages are; None leaves one out.
    swagger_ui_oauth2_redirect_url : str or None
        Where the first page comes back to after a login.
    sse_chunk_size : int, default 64
        Most characters of one event of a stream.
    sse_heartbeat_seconds : float, optional
        Seconds of silence after which a comment is sent; left out, never.
    **settings : Any
        Other arguments of ``FastAPI``.

    Raises
    ------
    ValueError
        If one of the settings of streams cannot be right.

    Examples
    --------
    >>> import asyncio, httpx
    >>> from notebook_agents import Agent, ScriptedProvider
    >>> app, agent = AgentAPI(), Agent(ScriptedProvider(["Hello!", "Hello!"]))
    >>> @app.chat("/chat")
    ... async def chat(message: str):
    ...     return {"response": await agent.run(message)}
    >>> @app.stream("/stream")
    ... async def stream(message: str):
    ...     return agent.stream(message)
    >>> async def post(path):
    ...     transport = httpx.ASGITransport(app)
    ...     async with httpx.AsyncClient(transport=transport) as http:
    ...         return (await http.post(f"http://api{path}?message=Hi")).text
    >>> asyncio.run(post("/chat"))
    '{"response":"Hello!"}'
    >>> asyncio.run(post("/stream"))
    'data: Hello!\n\ndata: [DONE]\n\n'
    """

    def __init__(
        self,
        *,
        title: str = "AgentAPI",
        description: str = "AgentAPI application",
        version: str = "0.1.0",
        docs_url: str | None = "/docs",
        redoc_url: str | None = "/redoc",
        swagger_ui_oauth2_redirect_url: str | None = "/docs/oauth2-redirect",
        sse_chunk_size: int = CHUNK_SIZE,
        sse_heartbeat_seconds: float | None = None,
        **settings: Any,
    ) -> None:
        checks.whole("sse_chunk_size", sse_chunk_size, least=1)
        if sse_heartbeat_seconds is not None:
            checks.seconds("sse_heartbeat_seconds", sse_heartbeat_seconds)
        self._sse_chunk_size = sse_chunk_size
        self._sse_heartbeat_seconds = sse_heartbeat_seconds
        super().__init__(
            title=title,
            description=description,
            version=version,
            docs_url=None,  # made by `Pages`
            redoc_url=None,
            swagger_ui_oauth2_redirect_url=swagger_ui_oauth2_redirect_url,
            **settings,
        )
        # Yours win; a stream that has not begun comes here too.
        for kind in ANSWERED:
            self.exception_handlers.setdefault(kind, _failed)
        self._pages = Pages(self, docs_url, redoc_url, swagger_ui_oauth2_redirect_url)

    def chat(self, path: str, **kwargs: Any) -> Callable[[H], H]:
        """Register a ``POST`` handler that may answer in any way.

        What it returns is sent as JSON; an `AgentResult` as its text; a
        response as it is; an `AgentStream` or another async iterator as
        server-sent events.

        Parameters
        ----------
        path : str
            Where it is.
        **kwargs : Any
            As of ``FastAPI.post``.

        Returns
        -------
        callable
            Decorator that gives the handler back as it was.
        """

        def register(handler: H) -> H:
            options = dict(kwargs)
            if not is_json(signature_of(handler).return_annotation):
                options.setdefault("response_model", None)
            self.post(path, **options)(endpoint_of(handler, self._to_answer))
            return handler

        return register

    def stream(self, path: str, **kwargs: Any) -> Callable[[H], H]:
        """Register a ``POST`` handler that answers with a stream of text.

        It returns an `AgentStream` or another async iterator, or is an async
        generator itself.

        Parameters
        ----------
        path : str
            Where it is.
        **kwargs : Any
            As of ``FastAPI.post``.

        Returns
        -------
        callable
            Decorator that gives the handler back as it was.
        """

        def register(handler: H) -> H:
            options = {
                "response_model": None,
                "response_class": StreamingResponse,
                **kwargs,
                "responses": _STREAMED | (kwargs.get("responses") or {}),
            }
            self.post(path, **options)(endpoint_of(handler, self._to_stream))
            return handler

        return register

    def openapi(self) -> dict[str, Any]:
        """Describe the application, once.

        Returns
        -------
        dict
            The description, with the logo.
        """
        schema = super().openapi()
        schema["info"].setdefault("x-logo", self._pages.logo)
        return schema

    def _to_answer(self, result: Any) -> Any:
        if isinstance(result, Response):
            return result
        if isinstance(result, AsyncIterable):
            return self._to_sse_response(result)
        return said(result)

    def _to_stream(self, result: Any) -> Response:
        if isinstance(result, StreamingResponse):
            return result
        if isinstance(result, AsyncIterable):
            return self._to_sse_response(result)
        message = (
            "A handler of `stream` returns an async iterator, such as "
            f"`agent.stream(...)`; this one returned a {type(result).__name__}."
        )
        raise TypeError(message)

    def _to_sse_response(self, source: AsyncIterable[Any]) -> Response:
        return TextStreamResponse(
            source,
            chunk_size=self._sse_chunk_size,
            heartbeat=self._sse_heartbeat_seconds,
        )


async def _failed(_request: Request, error: Exception) -> Response:
    return failure_response(error)
