"""The routes that ask the agent: one waits for the answer, one streams it.

``/runs`` finds a run again whose client has gone.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Query, Request
from fastapi.responses import StreamingResponse

from notebook_agents.server.failures import Refusal, timed_out
from notebook_agents.server.schemas import (
    ApprovalView,
    ChatRequest,
    ChatResponse,
    ErrorResponse,
    RunResponse,
)
from notebook_agents.server.security import CallerOf
from notebook_agents.server.served_run import Order, ServedRun
from notebook_agents.server.service import Service
from notebook_agents.server.sse import EventStreamResponse, encode_json, intermediate

__all__ = ["chat_routes", "run_routes"]

OnDisconnect = Annotated[
    Literal["cancel", "continue"],
    Query(description="What becomes of the run when the client goes away."),
]
Tokens = Annotated[bool, Query(description="Whether pieces of text are sent too.")]
LastEventId = Annotated[int, Header(alias="Last-Event-ID", ge=0)]
_FAILURES: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorResponse} for status in (422, 429, 500, 502, 503, 504)
}
_STREAM: dict[int | str, dict[str, Any]] = {
    200: {
        "content": {"text/event-stream": {}},
        "description": "`intermediate` events, then one `done` or one `error`.",
    },
}


def chat_routes(service: Service) -> APIRouter:
    """Make the routes that ask the agent.

    Parameters
    ----------
    service : Service
        What they serve.

    Returns
    -------
    APIRouter
        ``POST /chat`` and ``POST /chat/stream``.
    """
    router = APIRouter(tags=["chat"])
    path = service.config.chat_endpoint

    @router.post(path, name="chat", responses=_FAILURES)
    async def chat(
        body: ChatRequest,
        request: Request,
        caller: CallerOf,
        on_disconnect: OnDisconnect = "cancel",
    ) -> ChatResponse:
        """Ask, and wait for the whole answer."""
        return await answer(
            service,
            service.order(body, caller),
            request,
            stays=on_disconnect == "continue",
        )

    @router.post(
        f"{path}/stream",
        name="stream",
        response_class=StreamingResponse,
        responses=_FAILURES | _STREAM,
    )
    async def stream(
        body: ChatRequest, caller: CallerOf, on_disconnect: OnDisconnect = "cancel"
    ) -> EventStreamResponse:
        """Ask, and follow what the agent does."""
        order = service.order(body, caller)
        try:
            async with asyncio.timeout(service.config.request_timeout):
                served = await service.runs.start(order)
        except TimeoutError:
            late = _too_late(service)
            raise late from None
        return follow(
            service,
            served,
            with_tokens=body.stream_tokens,
            stays=on_disconnect == "continue",
        )

    return router


def run_routes(service: Service) -> APIRouter:
    """Make the routes to a run that was started before.

    Parameters
    ----------
    service : Service
        What they serve.

    Returns
    -------
    APIRouter
        ``GET /runs/{run_id}``, its ``/events`` and ``POST .../cancel``.
    """
    router = APIRouter(tags=["runs"], prefix="/runs")

    @router.get("/{run_id}", name="run", response_model_exclude_none=True)
    async def run(run_id: str, caller: CallerOf) -> RunResponse:
        """Tell how a run is, or what became of it."""
        return view(service.find_run(run_id, caller))

    @router.get(
        "/{run_id}/events",
        name="run_events",
        response_class=StreamingResponse,
        responses=_STREAM,
    )
    async def events(
        run_id: str,
        caller: CallerOf,
        last_event_id: LastEventId = 0,
        stream_tokens: Tokens = False,  # noqa: FBT002 - a query parameter
    ) -> EventStreamResponse:
        """Follow a run, from its beginning or from the last event seen."""
        served = service.find_run(run_id, caller)
        return follow(
            service, served, after=last_event_id, with_tokens=stream_tokens, stays=True
        )

    @router.post(
        "/{run_id}/cancel",
        name="run_cancel",
        status_code=202,
        response_model_exclude_none=True,
    )
    async def cancel(run_id: str, caller: CallerOf) -> RunResponse:
        """Ask a run to stop."""
        served = service.find_run(run_id, caller)
        if not served.run.is_done:
            served.end("")
        return view(served)

    return router


async def answer(
    service: Service, order: Order, request: Request, *, stays: bool
) -> ChatResponse:
    """Run an order for a client that waits.

    Parameters
    ----------
    service : Service
        Whose agent runs it.
    order : Order
        What to run.
    request : Request
        Who waits.
    stays : bool
        Whether the run goes on when the client has gone.

    Returns
    -------
    ChatResponse
        The finished turn.

    Raises
    ------
    Refusal
        504 when time is up: a run that has asked for an approval goes on,
        any other is stopped.
    """
    served: ServedRun | None = None

    async def work() -> ChatResponse:
        nonlocal served
        served = await service.runs.start(order)
        return await served.outcome()

    working = asyncio.create_task(work())
    leaving = asyncio.create_task(_departure(request))
    try:
        done, _ = await asyncio.wait(
            {working, leaving},
            timeout=service.config.request_timeout,
            return_when=asyncio.FIRST_COMPLETED,
        )
        if working in done:
            return await working
        if leaving in done:
            if served is not None and not stays:
                served.abandon()
            raise Refusal(408, "ClientDisconnected", "The client has gone.")
        if served is None or served.is_waiting or served.has_asked:
            late = _too_late(service, served)
            raise late
        served.end("timeout")
        return await working
    finally:
        for task in (working, leaving):
            task.cancel()
        await asyncio.gather(working, leaving, return_exceptions=True)


def follow(
    service: Service,
    served: ServedRun,
    *,
    after: int = 0,
    with_tokens: bool,
    stays: bool,
) -> EventStreamResponse:
    """Answer with the events of a run.

    Parameters
    ----------
    service : Service
        For its settings.
    served : ServedRun
        The run.
    after : int, default 0
        Number of the last event that the client has.
    with_tokens : bool
        Whether pieces of text are sent.
    stays : bool
        Whether the run goes on when the client has gone.

    Returns
    -------
    EventStreamResponse
        Up to and with the one terminal event.
    """
    return EventStreamResponse(
        frames(served, after=after, with_tokens=with_tokens),
        heartbeat=service.config.sse_heartbeat_seconds,
        on_close=None if stays else served.abandon,
        headers={"X-Run-Id": served.run.id},
    )


async def frames(
    served: ServedRun, *, after: int = 0, with_tokens: bool
) -> AsyncGenerator[bytes, None]:
    """Encode what happens in a run, and how it ends.

    Parameters
    ----------
    served : ServedRun
        The run.
    after : int, default 0
        Number of events to skip.
    with_tokens : bool
        Whether pieces of text are sent.

    Yields
    ------
    bytes
        One server-sent event.
    """
    seq = after
    events = served.run.events(after)
    try:
        async for event in events:
            seq = event.seq
            shown = intermediate(event, with_tokens=with_tokens)
            if shown is not None:
                yield encode_json("intermediate", shown, id=seq)
    finally:
        await events.aclose()
    try:
        response = await served.outcome()
    except Refusal as refusal:
        body = refusal.failure.body.model_dump(exclude_none=True)
        yield encode_json("error", body, id=seq)
    else:
        yield encode_json("done", response, id=seq)


def view(served: ServedRun) -> RunResponse:
    """Show a run as it is now."""
    failure = served.failure
    status: Literal["running", "waiting_for_approval", "done", "failed"] = "running"
    if failure is not None:
        status = "failed"
    elif served.response is not None:
        status = "done"
    elif served.is_waiting:
        status = "waiting_for_approval"
    return RunResponse(
        run_id=served.run.id,
        status=status,
        conversation_id=served.order.conversation_id,
        user_id=served.order.user_id,
        started_at=served.started_at,
        approvals=[ApprovalView.of(pending) for pending in served.run.approvals],
        response=served.response,
        error=failure.body if failure else None,
    )


def _too_late(service: Service, served: ServedRun | None = None) -> Refusal:
    run_id = served.run.id if served else None
    return Refusal.because_of(timed_out(service.config.request_timeout, run_id=run_id))


async def _departure(request: Request) -> None:
    """Await the moment in which the client is gone."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
