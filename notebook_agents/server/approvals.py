"""The routes that list and answer the questions of runs."""

from __future__ import annotations

from fastapi import APIRouter

from notebook_agents.errors import ToolArgumentsError
from notebook_agents.server.failures import Refusal
from notebook_agents.server.schemas import (
    ApprovalDecision,
    ApprovalResponse,
    ApprovalsResponse,
    ApprovalView,
    ErrorResponse,
)
from notebook_agents.server.security import CallerOf
from notebook_agents.server.service import Service

__all__ = ["approval_routes"]


def approval_routes(service: Service) -> APIRouter:
    """Make the routes to open questions.

    Parameters
    ----------
    service : Service
        Whose runs ask.

    Returns
    -------
    APIRouter
        ``GET /approvals`` and ``POST /approvals/{request_id}``.
    """
    router = APIRouter(tags=["approvals"], prefix="/approvals")

    @router.get("", name="approvals")
    async def approvals(caller: CallerOf) -> ApprovalsResponse:
        """List the calls that wait for a decision."""
        waiting = service.open_questions(caller)
        views = [ApprovalView.of(each, served.run.id) for each, served in waiting]
        return ApprovalsResponse(approvals=views)

    @router.post(
        "/{request_id}",
        name="approval_decide",
        responses={404: {"model": ErrorResponse}, 409: {"model": ErrorResponse}},
    )
    async def decide(
        request_id: str, body: ApprovalDecision, caller: CallerOf
    ) -> ApprovalResponse:
        """Decide about one call; the first decision counts."""
        pending = service.find_question(request_id, caller)
        by = f"http:{caller.user_id}" if caller.user_id else "http"
        try:
            counts = pending.decide(body.to_decision(), by=by)
        except ToolArgumentsError as error:
            raise Refusal(422, "ToolArgumentsError", f"args: {error}") from None
        if not counts:
            text = f"It has been decided already, by {pending.by}."
            raise Refusal(409, "AlreadyDecided", text)
        return ApprovalResponse(id=request_id, decision=body.decision)

    return router
