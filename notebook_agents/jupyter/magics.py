"""``%%agent`` and ``%agent``: read the line, find the agent, hand over."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, cell_magic, line_magic, magics_class

from notebook_agents.jupyter.approval import CellApprover
from notebook_agents.jupyter.arguments import AGENT_ARGUMENTS, taking
from notebook_agents.jupyter.commands import AgentCommands, help_text
from notebook_agents.jupyter.completion import Candidates, LineCompleter
from notebook_agents.jupyter.finding import AgentFinder
from notebook_agents.jupyter.host import JupyterHost
from notebook_agents.jupyter.line import check_quotes, split_words
from notebook_agents.jupyter.question import Question
from notebook_agents.jupyter.resumption import Resumption
from notebook_agents.jupyter.tool_cell import TOOL_ARGUMENTS, ToolCells
from notebook_agents.results import AgentResult

__all__ = ["AgentMagics"]


def _helped_by(text: str) -> Any:
    """Give a function what its help shows."""

    def decorate(function: Any) -> Any:
        function.__doc__ = text
        return function

    return decorate


@magics_class
class AgentMagics(Magics):
    """The magics of one shell."""

    shell: Any

    def __init__(self, shell: Any, host: JupyterHost, *, reach: str) -> None:
        super().__init__(shell)
        self._host = host
        self._agents = AgentFinder(shell)
        self._commands = AgentCommands(self._agents, resume=self._resume)
        self.candidates: dict[str, Candidates] = {
            "%agent": self._commands.candidates,
            "%%agent": LineCompleter(AGENT_ARGUMENTS, self._agents).candidates,
            "%%tool": LineCompleter(TOOL_ARGUMENTS, self._agents).candidates,
        }
        """What the Tab key offers after each magic."""
        self.tool_cells = ToolCells(
            shell,
            self._agents,
            parse=lambda line: _parsed(self.tool, line),
            reach=f"{reach}.tool_cells",
        )
        """What the code of a ``%%tool`` cell calls."""

    @taking("agent", *AGENT_ARGUMENTS)
    @cell_magic("agent")  # type: ignore[arg-type] # it knows functions without a name
    def ask(self, line: str, cell: str) -> Any:
        """Ask an agent; the cell is the prompt, its value the AgentResult."""
        question = self._question(line, cell)
        return question.take(self._host.wait(question.ask(self._approver())))

    @_helped_by(help_text())
    @line_magic("agent")  # type: ignore[arg-type] # as above
    def command(self, line: str) -> Any:
        """Carry out one sub-command."""
        answer = self._commands.run(line)
        if not isinstance(answer, str):
            return answer
        print(answer)  # noqa: T201 - what a line magic is for
        return None

    @taking("tool", *TOOL_ARGUMENTS)
    @cell_magic
    def tool(self, line: str, cell: str) -> None:
        """Run the cell and give an agent the functions that it defines as tools."""
        self.tool_cells.run(line, cell)

    async def run_agent_cell(self, line: str, cell: str) -> AgentResult[Any] | None:
        """Run a ``%%agent`` cell that is awaited."""
        question = self._question(line, cell)
        answer = await self._host.wait_async(question.ask(self._approver()))
        return question.take(answer)

    async def run_resume(self, line: str) -> AgentResult[Any]:
        """Run a ``%agent resume`` line that is awaited."""
        resumption = self._resumption(split_words(line))
        return await self._host.wait_async(resumption.go_on(self._approver()))

    def _resume(self, words: Sequence[str]) -> AgentResult[Any]:
        return self._host.wait(self._resumption(words).go_on(self._approver()))

    def _resumption(self, words: Sequence[str]) -> Resumption:
        return Resumption.of(words, shell=self.shell, agents=self._agents)

    def _question(self, line: str, cell: str) -> Question:
        args = _parsed(self.ask, line)
        return Question.of(args, cell, shell=self.shell, agents=self._agents)

    def _approver(self) -> CellApprover:
        return self._host.approver(flag="-y allow")


def _parsed(magic: Any, line: str) -> Any:
    try:
        check_quotes(line)
        return magic.parser.parse_args(split_words(line))
    except UsageError as error:
        name = magic.argcmd_name
        message = f"{str(error).rstrip('.')}. %%{name}? lists the options."
        raise UsageError(message) from None
