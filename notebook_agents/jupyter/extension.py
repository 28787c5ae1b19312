"""Loading and unloading: the magics, and the rewrite that awaits a cell.

A coroutine magic is not awaited by IPython, so a ``%%agent`` cell at the top
is rewritten to an ``await``. Inside another running cell (``%%time``,
``%%capture``) that would be wrong, and the sync twin does the work.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from notebook_agents.hosts import register_host
from notebook_agents.jupyter.completion import TabKey
from notebook_agents.jupyter.host import JupyterHost
from notebook_agents.jupyter.magics import AgentMagics

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

__all__ = ["load", "unload"]

_AGENT = "%%agent"
_TOOL = "%%tool"
_RESUME = "%agent resume"
_NAME = "notebook_agents_extension"


class _Extension:
    """What one shell has loaded."""

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        self.host = JupyterHost()
        self.magics = AgentMagics(
            shell, self.host, reach=f"get_ipython().{_NAME}.magics"
        )
        self.tab_key = TabKey(shell.Completer, self.magics.candidates)
        self.running = 0
        """Cells that run at this moment, one within the other."""

    def load(self) -> None:
        self.forget_host = register_host(self.host)
        self.shell.register_magics(self.magics)
        self.shell.input_transformers_cleanup.append(self.rewrite)
        self.shell.ast_transformers.append(self.magics.tool_cells)
        self.tab_key.register()
        self.shell.events.register("pre_run_cell", self.cell_began)
        self.shell.events.register("post_run_cell", self.cell_ended)

    def unload(self) -> None:
        self.forget_host()
        self.shell.input_transformers_cleanup.remove(self.rewrite)
        self.shell.ast_transformers.remove(self.magics.tool_cells)
        self.tab_key.unregister()
        self.shell.events.unregister("pre_run_cell", self.cell_began)
        self.shell.events.unregister("post_run_cell", self.cell_ended)
        for kind in ("cell", "line"):
            for name in ("agent", "tool"):
                self.shell.magics_manager.magics[kind].pop(name, None)

    def cell_began(self, *_: Any) -> None:
        self.running += 1

    def cell_ended(self, *_: Any) -> None:
        # The cell that loads the extension ends without having begun.
        self.running = max(0, self.running - 1)

    def rewrite(self, lines: list[str]) -> list[str]:
        """Turn our magics into what Python runs; what asks is awaited at the top."""
        line = _line_of(lines, _TOOL)
        if line is not None:
            return self.magics.tool_cells.rewritten(line, lines[1:])
        if self.running or not self.shell.autoawait:
            return lines
        line = _line_of(lines, _RESUME)
        if line is not None and not "".join(lines[1:]).strip():
            return [f"await get_ipython().{_NAME}.magics.run_resume({line!r})\n"]
        line = _line_of(lines, _AGENT)
        if line is None:
            return lines
        body = "".join(lines[1:])
        call = f"run_agent_cell({line!r}, {body!r})"
        return [f"await get_ipython().{_NAME}.magics.{call}\n"]


# Without this mark, terminal IPython would rewrite a cell that is still being
# typed, and take its first line for the whole of it.
_Extension.rewrite.has_side_effects = True  # type: ignore[attr-defined]


def _line_of(lines: list[str], magic: str) -> str | None:
    """Give what follows a magic on the first line; None if it is not there."""
    if not lines or not lines[0].startswith(magic):
        return None
    rest = lines[0].removeprefix(magic)
    # "%%agent?" asks for help, and "%%agents" is somebody else's.
    return rest.strip() if rest[:1] in {"", " ", "\t", "\n"} else None


def load(shell: InteractiveShell) -> None:
    """Register the magics with a shell, once.

    Parameters
    ----------
    shell : InteractiveShell
        IPython's shell.
    """
    if getattr(shell, _NAME, None) is None:
        extension = _Extension(shell)
        extension.load()
        setattr(shell, _NAME, extension)


def unload(shell: InteractiveShell) -> None:
    """Undo `load`.

    Parameters
    ----------
    shell : InteractiveShell
        IPython's shell.
    """
    extension = getattr(shell, _NAME, None)
    if extension is not None:
        extension.unload()
        setattr(shell, _NAME, None)
