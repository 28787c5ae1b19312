"""`store_turn`: the last thing that a run does, even if nobody waits for it."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Sequence

from notebook_agents.errors import NotebookAgentsError
from notebook_agents.journal import RunJournal
from notebook_agents.memory.conversation import Conversation
from notebook_agents.messages import Message

__all__ = ["not_stored", "store_turn"]

logger = logging.getLogger(__name__)


async def store_turn(
    messages: Sequence[Message],
    conversation: Conversation,
    journal: RunJournal | None,
    *,
    is_stopped: bool,
) -> None:
    """Keep a turn, then forget what is in the journal about its run.

    Parameters
    ----------
    messages : sequence of Message
        The turn; none if it is not worth keeping.
    conversation : Conversation
        Where it is kept.
    journal : RunJournal or None
        What there is about the run; stays if the turn cannot be kept, so that
        somebody can go on with it.
    is_stopped : bool
        Whether somebody has ended the run. Written down first: should nothing
        more come of this, whoever goes on will not run what was stopped.
    """
    if journal is None:
        await conversation.keep(messages)
        return
    try:
        if is_stopped:
            with contextlib.suppress(NotebookAgentsError):
                await journal.stopped()
        if messages and not journal.is_lost:
            await conversation.keep(messages)
        await journal.close()
    finally:
        journal.leave()


def not_stored(fault: Exception | str, *, run_id: str, is_stored: bool) -> str:
    """Log and say what went wrong when a run was over.

    Parameters
    ----------
    fault : Exception or str
        The error, or what there is to say.
    run_id : str
        The run.
    is_stored : bool
        Whether its turn was stored, or worth nothing, all the same.

    Returns
    -------
    str
        A sentence; what stands before its colon is fit for anybody.
    """
    said = f"The turn could not be stored: {fault}"
    if is_stored:
        said = (
            f"The run is over, but the journal still has it: {fault}. "
            f"agent.forget_run({run_id!r}) drops it."
        )
    logger.error(said, exc_info=fault if isinstance(fault, Exception) else None)
    return said
