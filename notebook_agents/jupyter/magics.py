"""``%%agent``: read the line, find the agent, hand over."""

from __future__ import annotations

import difflib
from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, cell_magic, magics_class
from IPython.core.magic_arguments import argument, magic_arguments, parse_argstring

from notebook_agents.agent import Agent
from notebook_agents.approval import POLICIES
from notebook_agents.jupyter.cell import show_run
from notebook_agents.jupyter.host import JupyterHost
from notebook_agents.results import AgentResult

__all__ = ["AgentMagics"]


@magics_class
class AgentMagics(Magics):
    """The magics of one shell."""

    shell: Any

    def __init__(self, shell: Any, host: JupyterHost) -> None:
        super().__init__(shell)
        self._host = host
        self._last: str | None = None
        self._default: Agent | None = None

    @magic_arguments()
    @argument(
        "agent",
        nargs="?",
        help="Name of an Agent in this notebook; left out, the one used last, "
        "else the only one there is, else one on the default model.",
    )
    @argument("-m", "--model", help='Model for this cell, as "provider:model".')
    @argument("-o", "--out", metavar="NAME", help="Variable to bind the result to.")
    @argument(
        "-y",
        "--approve",
        choices=POLICIES,
        help="How calls that need approval are decided: ask (the default), "
        "policy, allow, deny.",
    )
    @argument("--max-steps", type=int, default=10, help="Most model calls, 10.")
    @cell_magic
    def agent(self, line: str, cell: str) -> AgentResult[Any]:
        """Ask an agent; the cell is the prompt, its value the AgentResult."""
        return self._host.wait(self._run(line, cell))

    async def run_agent_cell(self, line: str, cell: str) -> AgentResult[Any]:
        """Run a ``%%agent`` cell that is awaited."""
        return await self._host.wait_async(self._run(line, cell))

    def _run(self, line: str, cell: str) -> Any:
        args = self._parse(line)
        if not cell.strip():
            message = "The cell is empty. Write below %%agent what it should do."
            raise UsageError(message)
        if args.out and not args.out.isidentifier():
            message = f"--out needs the name of a variable, not {args.out!r}."
            raise UsageError(message)
        if args.max_steps < 1:
            message = f"--max-steps is {args.max_steps}; it must be at least 1."
            raise UsageError(message)
        agent = self._find(args.agent)
        if args.model:
            agent = agent.with_model(args.model)
        approver = self._host.approver(flag="-y allow")
        return self._answer(agent, cell.strip(), args, approver)

    def _parse(self, line: str) -> Any:
        try:
            return parse_argstring(self.agent, line)
        except UsageError as error:
            message = f"{error}. %%agent? lists the options."
            raise UsageError(message) from None

    async def _answer(
        self, agent: Agent, prompt: str, args: Any, approver: Any
    ) -> AgentResult[Any]:
        options: dict[str, Any] = {"max_tool_rounds": args.max_steps - 1}
        if args.approve:
            options["policy"] = args.approve
        result = await show_run(agent, prompt, approver=approver, **options)
        if args.out:
            self.shell.user_ns[args.out] = result
        return result

    def _find(self, name: str | None) -> Agent:
        here = self._agents()
        if name is None:
            name = self._last if self._last in here else _only(here)
        if name is None:
            self._default = self._default or Agent()
            return self._default
        if name not in here:
            name = _called(name, here)
        self._last = name
        return here[name]

    def _agents(self) -> dict[str, Agent]:
        return {
            name: value
            for name, value in self.shell.user_ns.items()
            if isinstance(value, Agent) and not name.startswith("_")
        }


def _called(name: str, here: dict[str, Agent]) -> str:
    """Find the variable of an agent by the name that its answers show."""
    variables = [key for key, agent in here.items() if agent.name == name]
    if len({id(here[key]) for key in variables}) == 1:
        return variables[0]
    message = f"There is no agent named {name!r} here; agents: "
    message += (", ".join(sorted(here)) or "none yet") + ". "
    close = difflib.get_close_matches(name, here, n=1)
    if close:
        message += f"Did you mean {close[0]}?"
    else:
        message += f'Make one in a cell: {name} = Agent("local")'
    raise UsageError(message)


def _only(here: dict[str, Agent]) -> str | None:
    if len({id(agent) for agent in here.values()}) > 1:
        names = ", ".join(sorted(here))
        message = f"There are several agents here: {names}. Name one after %%agent."
        raise UsageError(message)
    return next(iter(here), None)
