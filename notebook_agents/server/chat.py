"""The routes that ask the agent: one waits for the answer, one streams it.

``/runs`` finds a run again whose client has gone.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from functools import partial
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Query, Request
from fastapi.responses import StreamingResponse

from notebook_agents.server.connection import departure
from notebook_agents.server.failures import Failure, Refusal, report, timed_out
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
    status: {"model": ErrorResponse} for status in (429, 500, 502, 503, 504)
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
        body: ChatRequest,
        request: Request,
        caller: CallerOf,
        on_disconnect: OnDisconnect = "cancel",
    ) -> EventStreamResponse:
        """Ask, and follow what the agent does."""
        order, stays = service.order(body, caller), on_disconnect == "continue"
        served = await begin(service, order, request, stays=stays)
        return follow(service, served, with_tokens=body.stream_tokens, stays=stays)

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
    router = APIRouter(
        tags=["runs"], prefix="/runs", responses={404: {"model": ErrorResponse}}
    )

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


async def begin(
    service: Service, order: Order, request: Request, *, stays: bool
) -> ServedRun:
    """Begin an order for a client that waits, when it is its turn.

    Parameters
    ----------
    service : Service
        Whose agent runs it.
    order : Order
        What to run.
    request : Request
        Who waits.
    stays : bool
        Whether the order is carried out when the client has gone.

    Returns
    -------
    ServedRun
        Going on.

    Raises
    ------
    Refusal
        504 when time is up before its turn has come.
    """
    starting = asyncio.create_task(service.runs.start(order))
    ends = await _first(starting, request, service.config.request_timeout)
    if ends == "done":
        return starting.result()
    if ends == "gone" and stays:
        service.runs.keep(starting)
    else:
        starting.cancel()
    refusal = _client_gone() if ends == "gone" else _too_late(service)
    raise refusal


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
    limit = service.config.request_timeout
    end = asyncio.get_running_loop().time() + limit
    served = await begin(service, order, request, stays=stays)
    served.enter()
    outcome = asyncio.create_task(served.outcome())
    try:
        left = end - asyncio.get_running_loop().time()
        ends = await _first(outcome, request, left)
        if ends == "done":
            return outcome.result()
        if ends == "gone":
            refusal = _client_gone()
            raise refusal
        if served.is_waiting or served.has_asked:
            stays = True  # the client is told where its run is
            refusal = _too_late(service, served)
            raise refusal
        served.end("timeout")
        return await outcome
    finally:
        served.leave(stays=stays)
        outcome.cancel()


async def _first(
    work: asyncio.Task[Any], request: Request, seconds: float
) -> Literal["done", "gone", "late"]:
    """Wait for some work, while the client is there and time is not up."""
    leaving = asyncio.create_task(departure(request.receive))
    try:
        done, _ = await asyncio.wait(
            {work, leaving}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED
        )
    except asyncio.CancelledError:
        work.cancel()
        raise
    finally:
        leaving.cancel()
    if work in done:
        return "done"
    return "gone" if leaving in done else "late"


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
    served.enter()
    return EventStreamResponse(
        frames(served, after=after, with_tokens=with_tokens),
        heartbeat=service.config.sse_heartbeat_seconds,
        on_close=partial(served.leave, stays=stays),
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
    events = served.happenings(after)
    try:
        async for event in events:
            seq = max(seq, event.seq)
            shown = intermediate(event, with_tokens=with_tokens)
            if shown is not None:
                yield encode_json("intermediate", shown, id=seq)
        yield encode_json("done", await served.outcome(), id=seq)
    except Refusal as refusal:
        yield _last_frame(refusal.failure, seq)
    except Exception as error:  # noqa: BLE001 - a stream has one terminal event
        yield _last_frame(report(error, run_id=served.run.id), seq)
    finally:
        await events.aclose()


def _last_frame(failure: Failure, seq: int) -> bytes:
    return encode_json("error", failure.body.model_dump(exclude_none=True), id=seq)


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
        approvals=[
            ApprovalView.of(each, served.run.id) for each in served.run.approvals
        ],
        response=served.response,
        error=failure.body if failure else None,
    )


def _too_late(service: Service, served: ServedRun | None = None) -> Refusal:
    run_id = served.run.id if served else None
    return Refusal.because_of(timed_out(service.config.request_timeout, run_id=run_id))


def _client_gone() -> Refusal:
    return Refusal(408, "ClientDisconnected", "The client has gone.")
