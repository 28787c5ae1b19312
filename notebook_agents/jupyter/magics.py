"""``%%agent`` and ``%agent``: read the line, find the agent, hand over."""

from __future__ import annotations

import copy
from collections.abc import Coroutine
from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_cell_magic, magics_class
from IPython.core.magic_arguments import argument, magic_arguments, parse_argstring

from notebook_agents.agent import Agent
from notebook_agents.errors import NotebookAgentsError
from notebook_agents.jupyter import kernel
from notebook_agents.jupyter.cell import show_run
from notebook_agents.jupyter.commands import AgentCommands
from notebook_agents.jupyter.finding import AgentFinder
from notebook_agents.jupyter.host import JupyterHost
from notebook_agents.jupyter.interpolation import interpolate
from notebook_agents.memory.named import open_session
from notebook_agents.memory.session import MemorySession
from notebook_agents.memory.store import MemoryBackend
from notebook_agents.policy import MODES
from notebook_agents.results import AgentResult

__all__ = ["AgentMagics"]

_Result = AgentResult[Any] | None


@magics_class
class AgentMagics(Magics):
    """The magics of one shell."""

    shell: Any

    def __init__(self, shell: Any, host: JupyterHost) -> None:
        super().__init__(shell)
        self._host = host
        self._agents = AgentFinder(shell)
        self._commands = AgentCommands(self._agents)

    @magic_arguments()
    @argument(
        "agent",
        nargs="?",
        help="Name of an Agent in this notebook; left out, the one used last, "
        "else the only one there is, else one on the default model.",
    )
    @argument("-m", "--model", help='Model for this cell, as "provider:model".')
    @argument("-s", "--system", metavar="TEXT", help="System prompt for this cell.")
    @argument("-o", "--out", metavar="NAME", help="Variable to bind the result to.")
    @argument(
        "-S",
        "--session",
        metavar="NAME",
        help="Conversation that is kept under this name, also after a restart.",
    )
    @argument("-n", "--new", action="store_true", help="Begin the conversation anew.")
    @argument(
        "-y",
        "--approve",
        choices=MODES,
        help="How calls that need approval are decided: ask (the default), "
        "policy, allow, deny.",
    )
    @argument(
        "-t",
        "--tool",
        action="append",
        default=[],
        metavar="NAME",
        help="The only tool for this cell; may be given several times.",
    )
    @argument("--no-tools", action="store_true", help="No tools for this cell.")
    @argument("-q", "--quiet", action="store_true", help="Show the text alone.")
    @argument(
        "--on-error",
        choices=("raise", "show"),
        default="raise",
        help="Whether a run that fails ends Run All (raise, the default).",
    )
    @argument("-r", "--raw", action="store_true", help="Leave {name} as it stands.")
    @argument("--max-steps", type=int, default=10, help="Most model calls, 10.")
    @argument("--timeout", type=float, metavar="SECONDS", help="Longest run.")
    @line_cell_magic
    def agent(self, line: str, cell: str | None = None) -> AgentResult[Any] | None:
        """Ask an agent; the cell is the prompt, its value the AgentResult."""
        if cell is not None:
            return self._host.wait(self._run(line, cell))
        print(self._commands.run(line))  # noqa: T201 - what a line magic is for
        return None

    async def run_agent_cell(self, line: str, cell: str) -> AgentResult[Any] | None:
        """Run a ``%%agent`` cell that is awaited."""
        return await self._host.wait_async(self._run(line, cell))

    def _run(self, line: str, cell: str) -> Coroutine[Any, Any, _Result]:
        args = self._parse(line)
        _check(args, cell)
        agent = self._agents.find(args.agent)
        options: dict[str, Any] = {
            "owner": agent,
            "approver": self._host.approver(flag="-y allow"),
            "max_tool_rounds": args.max_steps - 1,
        }
        memory = _conversation(agent, args)
        if memory is not None:
            options["memory"] = memory
        if args.approve:
            options["policy"] = args.approve
        if args.system:
            options["system_prompt"] = args.system
        asked = agent.with_model(args.model) if args.model else agent
        if args.tool or args.no_tools:
            asked = _with_tools(asked, args.tool)
        return self._answer(asked, self._prompt(args, cell), args, options)

    def _parse(self, line: str) -> Any:
        try:
            args = parse_argstring(self.agent, line)
        except UsageError as error:
            message = f"{error}. %%agent? lists the options."
            raise UsageError(message) from None
        if args.system:
            args.system = args.system.strip("'\"")
        return args

    def _prompt(self, args: Any, cell: str) -> str:
        if args.raw:
            return cell.strip()
        put = interpolate(cell.strip(), self.shell.user_ns)
        if put.left:
            names = ", ".join(f"{{{name}}}" for name in put.left)
            print(f"left as text: {names}")  # noqa: T201 - in the cell, where it matters
        return put.text

    async def _answer(
        self, agent: Agent, prompt: str, args: Any, options: dict[str, Any]
    ) -> AgentResult[Any] | None:
        try:
            result = await show_run(
                agent, prompt, timeout=args.timeout, quiet=args.quiet, **options
            )
        except NotebookAgentsError as error:
            if args.on_error == "raise":
                raise
            print(f"{type(error).__name__}: {error}")  # noqa: T201 - as asked for
            return None
        if args.out:
            self.shell.user_ns[args.out] = result
        return result


def _with_tools(agent: Agent, names: list[str]) -> Agent:
    """Give the same agent with these tools alone."""
    unknown = [name for name in names if name not in agent.tools]
    if unknown:
        known = ", ".join(agent.tools) or "none"
        message = f"{agent.name} has no tool {unknown[0]!r}; its tools: {known}."
        raise UsageError(message)
    other = copy.copy(agent)
    other.tools = {name: agent.tools[name] for name in names}
    return other


def _check(args: Any, cell: str) -> None:
    problem = ""
    if not cell.strip():
        problem = "The cell is empty. Write below %%agent what it should do."
    elif args.out and not args.out.isidentifier():
        problem = f"--out needs the name of a variable, not {args.out!r}."
    elif args.max_steps < 1:
        problem = f"--max-steps is {args.max_steps}; it must be at least 1."
    elif args.timeout is not None and args.timeout <= 0:
        problem = f"--timeout is {args.timeout:g}; it must be more than 0 seconds."
    if problem:
        raise UsageError(problem)


def _conversation(agent: Agent, args: Any) -> MemoryBackend | None:
    """Choose the conversation, so that a cell that runs again writes its own turn."""
    memory = open_session(args.session) if args.session else agent.memory
    if args.new:
        memory.reset()
    key = kernel.cell_key()
    if key is not None and isinstance(memory, MemorySession):
        return memory.turn(key)
    return memory if args.session else None
