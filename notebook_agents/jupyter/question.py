"""`Question`: what a ``%%agent`` cell asks, and what becomes of its answer."""

from __future__ import annotations

import builtins
import copy
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from keyword import iskeyword
from typing import Any, get_origin

from IPython.core.error import UsageError
from IPython.display import display

from notebook_agents.agent import Agent
from notebook_agents.errors import NotebookAgentsError
from notebook_agents.jupyter.approval import CellApprover
from notebook_agents.jupyter.cell import show_run
from notebook_agents.jupyter.conversation import (
    conversation_of_cell,
    described,
    unfinished_line,
)
from notebook_agents.jupyter.finding import AgentFinder
from notebook_agents.jupyter.formats import AnswerFormat, Formatted, format_named
from notebook_agents.jupyter.html import notice
from notebook_agents.jupyter.interpolation import interpolate
from notebook_agents.jupyter.line import params_of
from notebook_agents.jupyter.look import Look
from notebook_agents.jupyter.variables import NotebookVariables
from notebook_agents.memory.store import MemoryBackend
from notebook_agents.results import AgentResult
from notebook_agents.run import Run
from notebook_agents.spelling import did_you_mean

__all__ = ["Question"]


MOST_STEPS = 10
"""How often a cell asks the model where the agent has no limit of its own."""


@dataclass(frozen=True, slots=True)
class Question:
    """One cell: whom it asks, what, and how it wants the answer.

    Parameters
    ----------
    args : argparse.Namespace
        The line of the cell.
    shell : InteractiveShell
        Whose variables are put in, and bound.
    owner : Agent
        The agent of the notebook.
    prompt : str
        What the cell says.
    form : AnswerFormat
        How the answer is read.
    options : dict
        What differs from other runs of the agent.
    """

    args: Any
    shell: Any
    owner: Agent
    prompt: str
    form: AnswerFormat
    options: dict[str, Any]

    @classmethod
    def of(cls, args: Any, cell: str, *, shell: Any, agents: AgentFinder) -> Question:
        """Read a cell.

        Parameters
        ----------
        args : argparse.Namespace
            Its line.
        cell : str
            The rest.
        shell : InteractiveShell
            Whose variables are put in.
        agents : AgentFinder
            The agents of the notebook.

        Returns
        -------
        Question
            Ready to be asked.

        Raises
        ------
        UsageError
            If the line cannot be right.
        """
        _check(args, cell)
        owner = agents.find(args.agent)
        _check_out(args.out, shell.user_ns, agents.here().values())
        schema = _type_named(args.schema, shell.user_ns) if args.schema else None
        form = format_named(
            args.format,
            display=lambda value: _bundle(shell, value),
            type_name=owner.answers_with(schema),
        )
        if schema is not None:
            form = replace(form, binds_value=True)
        form.prepare()
        variables = {} if args.raw else shell.user_ns
        options: dict[str, Any] = {
            "params": params_of(args.param),
            "namespace": NotebookVariables(shell),
        }
        if args.max_steps is not None or owner.max_steps is None:
            options["max_steps"] = args.max_steps or MOST_STEPS
        memory = conversation_of_cell(owner, args.session, is_new=args.new)
        if memory is not None:
            options["memory"] = memory
        if schema is not None:
            options["output_type"] = schema
        if args.approve:
            options["policy"] = args.approve
        asked, system = _put_in(args, cell, variables)
        system = system or owner.system_prompt or ""
        if args.system or form.instruction:
            said = (system, form.instruction)
            options["system_prompt"] = "\n\n".join(part for part in said if part)
        return cls(args, shell, owner, asked, form, options)

    async def ask(self, approver: CellApprover) -> Formatted | None:
        """Run the agent and show what happens.

        Parameters
        ----------
        approver : CellApprover
            Asks in the same cell.

        Returns
        -------
        Formatted or None
            None if the run failed and that was to be shown alone.

        Raises
        ------
        NotebookAgentsError
            If the run failed.
        """
        args, asked = self.args, self.owner
        if args.model:
            asked = asked.with_model(args.model)
        if args.tool or args.no_tools:
            asked = _with_tools(asked, args.tool)
        look = Look(
            quiet=args.quiet, verbose=args.verbose, verbatim=self.form.is_verbatim
        )
        memory = self.options.get("memory", self.owner.memory)

        async def begin() -> Run[Any]:
            return asked.start(self.prompt, approver=approver, **self.options)

        try:
            await self._tell_of_unfinished(memory)
            return await show_run(
                begin,
                asked=asked,
                owner=self.owner,
                approver=approver,
                look=look,
                form=self.form,
                note=await described(memory, args.session),
                timeout=args.timeout,
            )
        except NotebookAgentsError as error:
            if args.on_error == "raise":
                raise
            print(f"{type(error).__name__}: {error}")  # noqa: T201 - as asked for
            return None

    async def _tell_of_unfinished(self, memory: MemoryBackend) -> None:
        args = self.args
        line = await unfinished_line(memory, args.agent, args.session)
        if line:
            display(notice(line), raw=True)

    def take(self, answer: Formatted | None) -> AgentResult[Any] | None:
        """Bind what ``-o`` names, and propose the code of a next cell.

        Parameters
        ----------
        answer : Formatted or None
            What `ask` gave. In the thread of the cell, which is where a front end
            is told what comes next.

        Returns
        -------
        AgentResult or None
            The value of the cell.
        """
        if answer is None:
            return None
        if self.args.out:
            binds_value = self.form.binds_value
            value = answer.result.output if binds_value else answer.result
            self.shell.user_ns[self.args.out] = value
        if answer.next_cell:
            self.shell.set_next_input(answer.next_cell, replace=False)
        return answer.result


def _bundle(shell: Any, value: Any) -> dict[str, Any]:
    bundle: dict[str, Any] = shell.display_formatter.format(value)[0]
    return bundle


def _put_in(args: Any, cell: str, variables: dict[str, Any]) -> tuple[str, str]:
    """Put variables into what is asked and into the system prompt of the cell."""
    said, system = cell.strip(), args.system or ""
    if args.raw:
        return said, system
    put = [interpolate(text, variables) for text in (said, system)]
    left = dict.fromkeys(name for each in put for name in each.left)
    if left:
        names = ", ".join(f"{{{name}}}" for name in left)
        print(f"left as text: {names}")  # noqa: T201 - in the cell, where it matters
    return put[0].text, put[1].text


def _type_named(name: str, variables: Mapping[str, Any]) -> Any:
    if name in variables:
        return variables[name]
    found = getattr(builtins, name, None)
    if isinstance(found, type):
        return found
    types = [each for each, value in variables.items() if _is_type(value)]
    meant = did_you_mean(name, types) or " Define it in a cell above."
    message = (
        f"--schema needs a variable that holds a type; there is no {name!r}.{meant}"
    )
    raise UsageError(message)


def _is_type(value: Any) -> bool:
    return isinstance(value, type) or get_origin(value) is not None


def _check_out(
    name: str | None, variables: Mapping[str, Any], agents: Iterable[Agent]
) -> None:
    """Refuse to put a result in the place of what the next cell needs."""
    value = variables.get(name or "")
    what = ""
    if isinstance(value, Agent):
        what = "an agent"
    elif value is not None:
        tools = (tool for agent in agents for tool in agent.tools.values())
        what = next(("a tool" for tool in tools if tool.func is value), "")
    if what:
        message = f"-o {name} would overwrite {what}; take another name."
        raise UsageError(message)


def _with_tools(agent: Agent, names: list[str]) -> Agent:
    """Give the same agent with these tools alone."""
    unknown = [name for name in names if name not in agent.tools]
    if unknown:
        known = ", ".join(agent.tools) or "none"
        message = f"{agent.name} has no tool {unknown[0]!r}; its tools: {known}."
        raise UsageError(message)
    other = copy.copy(agent)
    other.tools = {name: agent.tools[name] for name in names}
    other.asking = agent.asking.within(agent.tools)
    return other


def _check(args: Any, cell: str) -> None:
    problem = ""
    if not cell.strip():
        problem = "The cell is empty. Write below %%agent what it should do."
    elif args.out and (not args.out.isidentifier() or iskeyword(args.out)):
        problem = f"--out needs the name of a variable, not {args.out!r}."
    elif args.max_steps is not None and args.max_steps < 1:
        problem = f"--max-steps is {args.max_steps}; it must be at least 1."
    elif args.timeout is not None and args.timeout <= 0:
        problem = f"--timeout is {args.timeout:g}; it must be more than 0 seconds."
    elif args.quiet and args.verbose:
        problem = "--quiet and --verbose say the opposite; choose one."
    if problem:
        raise UsageError(problem)
