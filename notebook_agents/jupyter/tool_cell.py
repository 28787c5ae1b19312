"""``%%tool``: a cell whose functions become tools of an agent.

The cell runs as it would without the magic, which is only a text on its first
line. Once it has been parsed, a call is put before its code that checks the
line, and one at its end that adds the tools. So a cell that fails adds nothing,
errors point at the right line, ``await`` and a value in the last line work, and
the source can be looked up.
"""

from __future__ import annotations

import ast
import inspect
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from IPython.core.magic_arguments import argument

from notebook_agents.agent import Agent
from notebook_agents.jupyter import kernel
from notebook_agents.jupyter.arguments import AGENT
from notebook_agents.jupyter.finding import AgentFinder
from notebook_agents.tools.definition import RISKS, ToolDefinition, ToolOptions
from notebook_agents.tools.derivation import attach, to_tool_definition

__all__ = ["TOOL_ARGUMENTS", "ToolCells"]

TOOL_ARGUMENTS = (
    AGENT,
    argument("--approval", action="store_true", help="Ask a person before each call."),
    argument("--risk", choices=RISKS, help="What a call may do, for who is asked."),
)
"""What may stand on the line."""

MARK = "%%tool "
"""How the text begins that is the first line of such a cell."""

_BLOCKS = (ast.If, ast.Try, ast.With, ast.AsyncWith, ast.For, ast.AsyncFor, ast.While)
_Made = tuple["weakref.ref[Agent]", str, ToolDefinition]


class ToolCells(ast.NodeTransformer):
    """The ``%%tool`` cells of one shell, and which tools came from which.

    Parameters
    ----------
    shell : InteractiveShell
        Where the functions live.
    agents : AgentFinder
        The agents of the notebook.
    parse : callable
        Reads the line of the magic.
    reach : str
        Python by which a cell reaches this object.
    """

    def __init__(
        self,
        shell: Any,
        agents: AgentFinder,
        *,
        parse: Callable[[str], Any],
        reach: str,
    ) -> None:
        self._shell = shell
        self._agents = agents
        self._parse = parse
        self._reach = reach
        self._made: dict[str, list[_Made]] = {}

    @staticmethod
    def rewritten(line: str, body: Sequence[str]) -> list[str]:
        """Write a cell as the code that is parsed, line by line.

        Parameters
        ----------
        line : str
            What follows the magic.
        body : sequence of str
            The lines below it.

        Returns
        -------
        list of str
            As many lines as the cell has.
        """
        # A docstring may stand before ``from __future__ import annotations``.
        return [f"{f'{MARK}{line}'!r}\n", *body]

    def visit_Module(self, node: ast.Module) -> ast.Module:
        """Put the two calls into a cell of ours."""
        line = _line_of(node)
        if line is None:
            return node
        mark, *body = node.body
        names = list(dict.fromkeys(_defined(body)))
        begin = ast.copy_location(self._call("begin", line), mark)
        end = self._call("end", line, names)
        last = body[-1] if body else begin
        if body and isinstance(last, ast.Expr):
            end.value.args.append(last.value)
            last.value = ast.copy_location(end.value, last.value)
        else:
            body.append(ast.copy_location(end, last))
        node.body = [begin, *body]
        node.body.sort(key=lambda each: not _is_future(each))  # they have to be first
        return ast.fix_missing_locations(node)

    def begin(self, line: str) -> None:
        """Refuse a wrong line before the cell does anything.

        Parameters
        ----------
        line : str
            What follows the magic.
        """
        self._agents.find(self._parse(line).agent)

    def end(self, line: str, names: Sequence[str], value: Any = None) -> Any:
        """Add the tools of a cell, and say so.

        Parameters
        ----------
        line : str
            What follows the magic.
        names : sequence of str
            The functions that the cell defines.
        value : object
            What its last line gave.

        Returns
        -------
        object
            The same value.
        """
        args = self._parse(line)
        agent = self._agents.find(args.agent)
        options: ToolOptions = {}
        if args.approval:
            options["approval"] = True
        if args.risk:
            options["risk"] = args.risk
        # All of them are read before the first is added.
        read = [
            (function, to_tool_definition(function, **options))
            for function in self._functions(names)
        ]
        for function, definition in read:
            attach(function, definition)
            agent.add_tool(definition)
        added = [definition for _, definition in read]
        removed = self._remember(agent, added)
        print(_said(agent, added, removed))  # noqa: T201 - in the cell, where it matters
        return value

    def run(self, line: str, cell: str) -> None:
        """Run a cell that another program passes on.

        Parameters
        ----------
        line, cell : str
            What follows the magic, and the lines below it.
        """
        body = cell.splitlines(keepends=True)
        code = self._shell.transform_cell("".join(self.rewritten(line, body)))
        name = self._shell.compile.cache(code)  # so that the source can be looked up
        tree = self._shell.transform_ast(ast.parse(code, name))
        exec(self._shell.compile(tree, name, "exec"), self._shell.user_ns)  # noqa: S102 - it is the user's own cell

    def _call(self, method: str, *args: Any) -> Any:
        written = ", ".join(map(repr, args))
        return ast.parse(f"{self._reach}.{method}({written})").body[0]

    def _functions(self, names: Sequence[str]) -> Iterator[Callable[..., Any]]:
        for name in names:
            function = self._shell.user_ns.get(name)
            is_private = name.startswith("_")
            if callable(function) and not inspect.isclass(function) and not is_private:
                yield function

    def _remember(self, agent: Agent, added: Sequence[ToolDefinition]) -> list[str]:
        """Note what a cell has made, and take away what it no longer makes."""
        cell = kernel.cell_key()
        if cell is None:  # nobody can tell that it runs again
            return []
        before = self._made.get(cell, ())
        self._made[cell] = [(weakref.ref(agent), each.name, each) for each in added]
        removed = []
        for reference, name, definition in before:
            owner = reference()
            # What was replaced, here or elsewhere, is not ours to take away.
            if owner is not None and owner.tools.get(name) is definition:
                del owner.tools[name]
                removed.append(name)
        return removed


def _line_of(node: ast.Module) -> str | None:
    """Give the line of the magic, if a cell is one of ours."""
    text = ast.get_docstring(node, clean=False) or ""
    return text.removeprefix(MARK) if text.startswith(MARK) else None


def _defined(body: Sequence[ast.stmt]) -> Iterator[str]:
    """Name the functions that are defined at the top level, also under an if."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name
        elif isinstance(node, _BLOCKS):
            for part in ("body", "handlers", "orelse", "finalbody"):
                yield from _defined(getattr(node, part, ()))
        elif isinstance(node, ast.ExceptHandler):
            yield from _defined(node.body)


def _is_future(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


def _said(agent: Agent, added: Sequence[ToolDefinition], removed: Sequence[str]) -> str:
    signatures = [_signature(agent, definition) for definition in added]
    parts = [f"added {', '.join(signatures)}"] if added else []
    if removed:
        parts.append(f"removed {', '.join(removed)}")
    nothing = "the cell defines no function, so nothing was added"
    return f"{agent.name}: {'; '.join(parts) or nothing}"


def _signature(agent: Agent, definition: ToolDefinition) -> str:
    parameters = definition.schema["function"]["parameters"].get("properties", {})
    call = f"{definition.name}({', '.join(parameters)})"
    if not agent.asking.may_ask([definition], agent.policy):
        return call
    rule = definition.approval
    is_sure = definition.risk != "read" if rule == "risky" else rule is True
    return f"{call} [asks]" if is_sure else f"{call} [may ask]"
