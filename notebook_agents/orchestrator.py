"""`Orchestrator`: an agent that hands tasks to other agents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MethodType
from typing import Annotated, Any, cast

from notebook_agents import checks
from notebook_agents.agent import Agent
from notebook_agents.delegation import brief, delegated
from notebook_agents.errors import ToolRetry
from notebook_agents.history.budget import HistoryBudget
from notebook_agents.providers.base import BaseProvider
from notebook_agents.spelling import by_name
from notebook_agents.telling import OnEvent
from notebook_agents.tools.definition import ToolDefinition
from notebook_agents.tools.derivation import to_tool_definition

__all__ = ["Orchestrator"]

SYSTEM_PROMPT = """\
You lead a team. Hand each part of the work to the member who fits best, with
everything that member needs to know in the task; they see nothing else. Parts
that do not depend on each other are handed out in the same step. When you have
what you need, answer the user yourself.

Members:
{members}"""
_OWN = frozenset({"tools", "history"})
"""What members may have, and the orchestrator decides itself."""
DELEGATE = "Hand a task to a member of the team and get their answer."


@by_name
class Orchestrator(Agent):
    """An agent with one tool, ``delegate(agent_name, task)``.

    It is asked, shown and served like any other agent. What a member says is
    the result of the call; its own tools, memory and guards are its own.

    Parameters
    ----------
    client : str or BaseProvider, optional
        As for `Agent`. Members that name no model answer with the same one.
    sub_agents : mapping of str to Agent
        The members, by the name under which tasks are handed to them.
    history_max_tokens : int, default 8000
        How much of its conversation the orchestrator sees, in tokens.
    system_prompt : str, optional
        Instead of the built-in one; ``{members}`` in it stands for the list.
    max_steps : int, default 10
        Most model calls of a run.
    max_tokens : int, default 4096
        Most tokens of visible output of one model call.
    on_event : callable, optional
        Called with each event as a dict; those of a member also have
        ``delegated_to``, its name.
    name : str, default "orchestrator"
        Name shown to people.
    **options
        Anything else that an `Agent` takes.

    Raises
    ------
    AgentConfigurationError
        If there are no members, or something is none.

    Examples
    --------
    >>> from notebook_agents import Agent, Orchestrator, ScriptedProvider, call
    >>> poet = Agent(ScriptedProvider(["Roses are red."]), name="poet")
    >>> script = [call("delegate", agent_name="poet", task="A line"), "Here it is."]
    >>> team = Orchestrator(ScriptedProvider(script), {"poet": poet})
    >>> result = team.run_sync("Write a line")
    >>> result.tool_calls[0]["content"]
    'Roses are red.'
    """

    def __init__(
        self,
        client: str | BaseProvider | None = None,
        sub_agents: Mapping[str, Agent] | None = None,
        *,
        history_max_tokens: int = 8000,
        system_prompt: str | None = None,
        max_steps: int | None = 10,
        max_tokens: int = 4096,
        on_event: OnEvent | None = None,
        name: str = "orchestrator",
        **options: Any,
    ) -> None:
        team = _checked_members(sub_agents)
        for fixed in sorted(_OWN & options.keys()):
            checks.fail(f"An Orchestrator has its own {fixed}; give yours to a member.")
        if system_prompt is not None:
            checks.text("system_prompt", system_prompt)
        checks.whole("history_max_tokens", history_max_tokens, least=1)
        members = "\n".join(f"- {_about(*member)}" for member in team.items())
        prompt = SYSTEM_PROMPT if system_prompt is None else system_prompt
        super().__init__(
            client,
            [to_tool_definition(self._delegate, name="delegate", description=DELEGATE)],
            system_prompt=prompt.replace("{members}", members),
            history=HistoryBudget(max_tokens=history_max_tokens),
            max_steps=max_steps,
            max_tokens=max_tokens,
            on_event=on_event,
            name=name,
            **options,
        )
        self.sub_agents = team
        """The members, by name."""

    def _tools_now(self) -> dict[str, ToolDefinition]:
        tools = super()._tools_now()
        return {name: self._mine(each) for name, each in tools.items()}

    def _mine(self, definition: ToolDefinition) -> ToolDefinition:
        """Hand tasks out in the name of this agent, which may be a copy."""
        func, mine = definition.func, cast("MethodType", self._delegate)
        is_of_a_twin = getattr(func, "__func__", None) is mine.__func__ and func != mine
        return replace(definition, func=mine) if is_of_a_twin else definition

    async def _delegate(
        self,
        agent_name: Annotated[str, "Which member."],
        task: Annotated[str, "All they need to know; they see nothing else."],
    ) -> str:
        member = self.sub_agents.get(agent_name)
        if member is None:
            known = ", ".join(self.sub_agents)
            message = f"There is no member {agent_name!r}. Members: {known}."
            raise ToolRetry(message)
        on_event = self._on_event
        tell = None
        if on_event is not None:
            tell = _tagged(on_event, agent_name)
        return await delegated(member.or_on(self), task, on_event=tell)


def _checked_members(members: Any) -> dict[str, Agent]:
    """Give a team back, if it is one."""
    if not members or not isinstance(members, Mapping):
        given = "" if members is None else f", not {checks.shown(members)}"
        checks.fail(
            "An Orchestrator needs members by their names: "
            f"Orchestrator(client, {{name: agent}}){given}."
        )
    for name, member in members.items():
        checks.not_blank("The name of a member", name)
        if not isinstance(member, Agent):
            checks.fail(f"The member {name!r} is {checks.shown(member)}, not an Agent.")
    return dict(members)


def _about(name: str, agent: Agent) -> str:
    """Say what a member is good for, as far as the agent says it."""
    instructions = brief(agent.system_prompt)
    about = f"{name}: {instructions}" if instructions else name
    tools = ", ".join(agent.tools)
    return f"{about} (tools: {tools})" if tools else about


def _tagged(on_event: OnEvent, name: str) -> OnEvent:
    return lambda event: on_event({**event, "delegated_to": name})
