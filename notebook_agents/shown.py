"""`Shown`: what shows itself in a cell as the front end sees fit."""

from __future__ import annotations

from notebook_agents.hosts import current_host

__all__ = ["Shown"]


class Shown:
    """Something that a host knows how to show."""

    def _ipython_display_(self) -> None:
        host = current_host()
        if host is None:
            # IPython then goes on to the text of it.
            raise NotImplementedError
        host.show(self)
