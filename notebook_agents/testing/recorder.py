"""`EventRecorder`: keeps what an agent tells its ``on_event``."""

from __future__ import annotations

from typing import Any

__all__ = ["EventRecorder"]


class EventRecorder:
    """Keep the events that an agent tells, for a look at them afterwards.

    Attributes
    ----------
    events : list of dict
        In the order in which they happened.

    Examples
    --------
    >>> from notebook_agents import Agent, ScriptedProvider, call
    >>> def add(a: int, b: int) -> int:
    ...     return a + b
    >>> recorder = EventRecorder()
    >>> script = [call("add", a=1, b=2), "It is 3."]
    >>> agent = Agent(ScriptedProvider(script), [add], on_event=recorder)
    >>> result = agent.run_sync("1 + 2?")
    >>> recorder.kinds
    ['task', 'action', 'observation', 'answer']
    >>> recorder.of("observation")[0]["content"]
    '3'
    >>> recorder.assert_order("action", "answer")
    """

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []

    def __call__(self, event: dict[str, Any]) -> None:
        """Keep one event."""
        self.events.append(event)

    @property
    def kinds(self) -> list[str]:
        """The kind of each event, such as ``"action"``."""
        return [event["event"] for event in self.events]

    def of(self, kind: str) -> list[dict[str, Any]]:
        """Give the events of one kind.

        Parameters
        ----------
        kind : str
            Such as ``"action"``.

        Returns
        -------
        list of dict
            In order.
        """
        return [event for event in self.events if event["event"] == kind]

    def clear(self) -> None:
        """Forget what was told so far."""
        self.events.clear()

    def assert_order(self, *kinds: str) -> None:
        """Fail unless these kinds happened in this order, others in between or not.

        Parameters
        ----------
        *kinds : str
            Such as ``"action", "observation", "answer"``.

        Raises
        ------
        AssertionError
            With the first that is missing, and all there were.
        """
        left = iter(self.kinds)
        for kind in kinds:
            if kind not in left:
                message = f"no {kind!r} there in this order; there were: {self.kinds}"
                raise AssertionError(message)
