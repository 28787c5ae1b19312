"""`CallbackApprover`: a function of the user's own is asked instead of a person."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Awaitable, Callable
from typing import Any

from notebook_agents.approval import PendingApproval
from notebook_agents.checks import shown
from notebook_agents.decisions import Allow, ApprovalRequest, Deny
from notebook_agents.one_at_a_time import OneAtATime
from notebook_agents.sync import current_waiter
from notebook_agents.waiting import in_thread

__all__ = ["Callback", "CallbackApprover"]

Callback = Callable[[str, dict[str, Any]], bool | Awaitable[bool]]


class CallbackApprover:
    """Ask a function, one question at a time.

    Parameters
    ----------
    callback : callable
        ``(tool name, arguments) -> bool``, sync or async.
    """

    can_ask = False
    """It was written for tools: a yes to whatever it is asked raises no budget."""

    def __init__(self, callback: Callback) -> None:
        self._callback = callback
        self._one_at_a_time = OneAtATime()

    async def ask(self, pending: PendingApproval) -> None:
        """Call the function and pass its answer on."""
        async with self._one_at_a_time:
            answer = await self._answer_to(pending.request)
        decision = Allow() if answer is True else Deny(_no_of_callback(answer))
        pending.decide(decision, by="callback")

    async def _answer_to(self, request: ApprovalRequest) -> object:
        """Call the function where a tool would run: it may block, or draw."""
        waiter = current_waiter()
        if waiter is None or not waiter.is_open or not waiter.runs_tools:
            waiter = None

        def call() -> Any:
            return self._callback(request.tool, copy.deepcopy(dict(request.args)))

        if inspect.iscoroutinefunction(self._callback):
            return await (call() if waiter is None else waiter.run_async(call))
        if waiter is None:
            answer = await in_thread(call, name="approval callback")
        else:
            answer = await waiter.run(call)
        return await answer if inspect.isawaitable(answer) else answer


def _no_of_callback(answer: object) -> str:
    if answer is False or answer is None:
        return "the callback said no"
    return f"the callback returned {shown(answer)}, and only True allows"
