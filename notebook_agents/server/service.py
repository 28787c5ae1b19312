"""What the routes of one server share: the agent, its runs and its memory."""

from __future__ import annotations

import time

from notebook_agents.agent import Agent
from notebook_agents.approval import Approver, NobodyApprover, PendingApproval
from notebook_agents.chatting import conversation_scope, with_context
from notebook_agents.memory.scope import create_conversation_id
from notebook_agents.memory.store import MemoryStore
from notebook_agents.run import Run
from notebook_agents.server.config import ServerConfig
from notebook_agents.server.failures import Refusal
from notebook_agents.server.runs import Runs
from notebook_agents.server.schemas import ChatRequest
from notebook_agents.server.security import Caller, Credentials
from notebook_agents.server.served_run import Order, ServedRun

__all__ = ["Service"]

FLAG = 'approvals="wait" where the agent is served'


class Service:
    """An agent that is being served.

    Parameters
    ----------
    agent : Agent
        Who answers; setting the attribute swaps it, as it does with the store,
        and runs that go on keep theirs.
    config : ServerConfig
        How it is served.
    store : MemoryStore
        Where conversations are kept.
    """

    def __init__(self, agent: Agent, config: ServerConfig, store: MemoryStore) -> None:
        self.agent = agent
        self.store = store
        self.config = config
        self.credentials = Credentials(config)
        self.runs = Runs(
            self._begin,
            limit=config.request_timeout,
            most=config.max_concurrent_runs,
            most_waiting=config.max_waiting_runs,
        )
        self._began = time.monotonic()
        self._approver: Approver = NobodyApprover(FLAG)
        if config.approvals == "wait":
            self._approver = WaitingApprover(self.runs)

    @property
    def uptime(self) -> float:
        """How long ago the server was set up, in seconds."""
        return time.monotonic() - self._began

    def order(self, request: ChatRequest, caller: Caller) -> Order:
        """Make out who asks for what, and in which conversation.

        Parameters
        ----------
        request : ChatRequest
            The body.
        caller : Caller
            Whose key it came with.

        Returns
        -------
        Order
            Ready to run.

        Raises
        ------
        Refusal
            422 if the message is too long or there is no user.
        """
        context = [text for text in request.explicit_context or () if text.strip()]
        length = len(request.message) + sum(map(len, context))
        most = self.config.max_message_length
        if length > most:
            text = f"message: {length} characters, of which there may be {most}"
            raise Refusal(422, "ValidationError", text)
        user = caller.user_id or request.user_id or self.config.default_user_id
        if user is None:
            raise Refusal(422, "ValidationError", "user_id: Field required")
        conversation_id = request.conversation_id or create_conversation_id()
        scope = conversation_scope(
            conversation_id, user_id=user, agent_id=self.agent.agent_id
        )
        message = with_context(request.message, context)
        return Order(message=message, conversation_id=conversation_id, scope=scope)

    def find_run(self, run_id: str, caller: Caller) -> ServedRun:
        """Find a run that a caller may see.

        Parameters
        ----------
        run_id : str
            Its identifier.
        caller : Caller
            Who asks; a run of somebody else is not there for them.

        Returns
        -------
        ServedRun
            The run.

        Raises
        ------
        Refusal
            404 if there is none.
        """
        served = self.runs.find(run_id)
        if served is None or not caller.may_see(served.order.user_id):
            raise Refusal(404, "NotFound", "There is no such run.")
        return served

    def open_questions(self, caller: Caller) -> list[tuple[PendingApproval, ServedRun]]:
        """List the calls that wait and that a caller may see, each with its run."""
        return [
            (pending, served)
            for served in self.runs.active
            if caller.may_see(served.order.user_id)
            for pending in served.run.approvals
            if pending.decision is None
        ]

    def find_question(self, request_id: str, caller: Caller) -> PendingApproval:
        """Find a question that a caller may answer.

        Parameters
        ----------
        request_id : str
            Its identifier.
        caller : Caller
            Who asks.

        Returns
        -------
        PendingApproval
            The question, answered or not.

        Raises
        ------
        Refusal
            404 if there is none.
        """
        found = self.runs.find_question(request_id)
        if found is not None and caller.may_see(found[1].order.user_id):
            return found[0]
        raise Refusal(404, "NotFound", "There is no such approval.")

    def _begin(self, order: Order) -> Run:
        memory = self.store.session(order.scope)
        return self.agent.start(order.message, memory=memory, approver=self._approver)


class WaitingApprover:
    """Leave a question open until somebody decides, over HTTP or elsewhere.

    Parameters
    ----------
    runs : Runs
        Where open questions are found.
    """

    def __init__(self, runs: Runs) -> None:
        self._runs = runs

    async def ask(self, pending: PendingApproval) -> None:
        """Wait, for as long as the agent lets a question stay open."""
        with self._runs.asking(pending):
            await pending.wait()
