"""`GuardrailService`: guardrails that are written down, and who they are for."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from notebook_agents.database import Database, checked_path, file_in_home
from notebook_agents.errors import AgentConfigurationError
from notebook_agents.guardrails import rows
from notebook_agents.guardrails.definition import Guardrail, Kind
from notebook_agents.guardrails.guard import Guard, Scope, split
from notebook_agents.memory.sqlite import SQLiteStore
from notebook_agents.providers.base import BaseProvider

__all__ = ["GuardrailService"]

FILE_NAME = "guardrails.sqlite"

# A method is called `list`, as everywhere, which takes the name from here on.
Guardrails = list[Guardrail]
Guards = list[Guard]
Names = list[str]


class GuardrailService:
    """Keep guardrails in an SQLite file, and make guards of them.

    Safe to use from several threads and processes at once.

    Parameters
    ----------
    path_or_store : str, path or SQLiteStore, optional
        The file, made for its owner alone unless it exists; its folder must
        exist. With a store, a file of its own beside the store's. Left out,
        ``guardrails.sqlite`` in the folder that ``NOTEBOOK_AGENTS_HOME``
        names, else in the user's data folder.

    Raises
    ------
    MemoryStoreError
        If the file cannot be used; so does every method.
    ValueError
        If no file is meant, as by ``":memory:"``.

    Examples
    --------
    >>> from notebook_agents import Agent, ScriptedProvider
    >>> service = GuardrailService("guardrails.sqlite")
    >>> rule = service.create("Mail", kind="pii", config={"patterns": ["email"]})
    >>> service.assign([rule.id], agent_id="helpdesk")
    >>> guards = service.instantiate_guards(service.assigned(agent_id="helpdesk"))
    >>> before, after = service.split(guards)
    >>> model = ScriptedProvider(["Write to ada@example.org."])
    >>> agent = Agent(model, input_guards=before, output_guards=after)
    >>> print(agent.run_sync("Who helps?"))
    Write to [EMAIL].
    >>> service.close()
    """

    def __init__(
        self, path_or_store: str | os.PathLike[str] | SQLiteStore | None = None
    ) -> None:
        self._database = Database(
            _file(path_or_store), application_id=rows.APPLICATION_ID, steps=rows.STEPS
        )

    def __repr__(self) -> str:
        return f"GuardrailService({str(self.path)!r})"

    def __enter__(self) -> GuardrailService:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def path(self) -> Path:
        """The file, as an absolute path."""
        return self._database.path

    def close(self) -> None:
        """Close the file; the service cannot be used any more."""
        self._database.close()

    # Guardrails.

    def create(
        self,
        name: str,
        *,
        kind: Kind,
        config: Mapping[str, Any],
        scope: Scope = "both",
        enabled: bool = True,
    ) -> Guardrail:
        """Write a guardrail down.

        Parameters
        ----------
        name : str
            Shown to people, not blank.
        kind : {"keywords", "pii", "llm"}
            What makes the guard.
        config : mapping
            Its arguments: ``{"words": [...]}`` for keywords; ``{"patterns":
            [...], "extra": {...}}`` for pii; ``{"policy": "...", "on_error":
            ..., "timeout": ...}`` for llm.
        scope : {"input", "output", "both"}, default "both"
            Which texts it is for.
        enabled : bool, default True
            Whether it is in use.

        Returns
        -------
        Guardrail
            With the identifier that it got.

        Raises
        ------
        AgentConfigurationError
            If no guard can be made of it.
        """
        made = Guardrail(
            id=uuid.uuid4().hex,
            name=name,
            kind=kind,
            config=config,
            scope=scope,
            enabled=enabled,
            created_at=time.time_ns() // 1_000_000,
        )
        row = rows.to_row(made)
        with self._database.writing() as connection:
            rows.write(connection, row)
        return rows.from_row(row)

    def list(self) -> Guardrails:
        """Give every guardrail, in the order in which they were made."""
        with self._database.reading() as connection:
            found = connection.execute(f"{rows.SELECT} ORDER BY rowid").fetchall()
        return [rows.from_row(row) for row in found]

    def get(self, guardrail_id: str) -> Guardrail:
        """Give one guardrail.

        Parameters
        ----------
        guardrail_id : str
            Its identifier.

        Returns
        -------
        Guardrail
            As it is now.

        Raises
        ------
        KeyError
            If there is none.
        """
        with self._database.reading() as connection:
            return rows.read(connection, guardrail_id)

    def update(self, guardrail_id: str, **changes: Any) -> Guardrail:
        """Change a guardrail; guards that were made of it before stay as they are.

        Parameters
        ----------
        guardrail_id : str
            Its identifier.
        **changes : object
            New values for ``name``, ``kind``, ``config``, ``scope`` or
            ``enabled``.

        Returns
        -------
        Guardrail
            As it is now.

        Raises
        ------
        KeyError
            If there is none.
        AgentConfigurationError
            If no guard can be made of it any more, or there is nothing of a
            name that can be changed.
        """
        wrong = sorted(changes.keys() - rows.CHANGEABLE)
        if wrong:
            message = (
                f"{wrong[0]!r} cannot be changed; {', '.join(rows.CHANGEABLE)} can."
            )
            raise AgentConfigurationError(message)
        with self._database.writing() as connection:
            row = rows.to_row(replace(rows.read(connection, guardrail_id), **changes))
            rows.write(connection, row)
        return rows.from_row(row)

    def enable(self, guardrail_id: str, *, enabled: bool = True) -> Guardrail:
        """Put a guardrail to use, or out of use.

        Parameters
        ----------
        guardrail_id : str
            Its identifier.
        enabled : bool, default True
            Whether it is in use from now on.

        Returns
        -------
        Guardrail
            As it is now.
        """
        return self.update(guardrail_id, enabled=enabled)

    def delete(self, guardrail_id: str) -> None:
        """Remove a guardrail, also where it is assigned.

        Parameters
        ----------
        guardrail_id : str
            Its identifier.

        Raises
        ------
        KeyError
            If there is none.
        """
        statement = "DELETE FROM guardrails WHERE id = ?"
        with self._database.writing() as connection:
            if not connection.execute(statement, (guardrail_id,)).rowcount:
                error = rows.missing(guardrail_id)
                raise error

    # Who they are for.

    def assign(
        self,
        ids: str | Iterable[str],
        *,
        agent_id: str | None = None,
        session_id: str | None = None,
    ) -> None:
        """Say which guardrails an agent or a session has, instead of those before.

        Parameters
        ----------
        ids : str or iterable of str
            Identifiers, in the order in which the guards will be asked.
        agent_id, session_id : str, optional
            Who has them; one of the two. A session is named as you like, such
            as by its ``conversation_id``.

        Raises
        ------
        KeyError
            If one is not there; nothing is changed then.
        AgentConfigurationError
            If it is not one agent or one session.
        """
        if bool(agent_id) == bool(session_id):
            message = "Guardrails are assigned to one agent_id= or to one session_id=."
            raise AgentConfigurationError(message)
        target = agent_id or "", session_id or ""
        with self._database.writing() as connection:
            found = [rows.read(connection, each).id for each in _listed(ids)]
            connection.execute(
                "DELETE FROM assignments WHERE agent_id = ? AND session_id = ?", target
            )
            connection.executemany(
                "INSERT INTO assignments (agent_id, session_id, place, guardrail) "
                "VALUES (?, ?, ?, ?)",
                [(*target, place, each) for place, each in enumerate(found)],
            )

    def assigned(
        self, *, agent_id: str | None = None, session_id: str | None = None
    ) -> Names:
        """Tell which guardrails an agent, a session, or both together have.

        Parameters
        ----------
        agent_id, session_id : str, optional
            Who has them.

        Returns
        -------
        list of str
            Identifiers, those of the agent first; each once.
        """
        targets = [(agent_id, ""), ("", session_id)]
        found: dict[str, None] = {}
        with self._database.reading() as connection:
            for target in targets:
                if any(target):
                    cursor = connection.execute(rows.ASSIGNED, target)
                    found.update((row[0], None) for row in cursor.fetchall())
        return list(found)

    # Guards.

    def instantiate_guards(
        self,
        ids: str | Iterable[str],
        llm_client: str | BaseProvider | None = None,
    ) -> Guards:
        """Make guards of guardrails.

        Parameters
        ----------
        ids : str or iterable of str
            Identifiers, in the order in which the guards are wanted.
        llm_client : str or BaseProvider, optional
            The model that judges, for those of the kind ``llm``.

        Returns
        -------
        list of Guard
            Each has its ``scope``. What is out of use is left out.

        Raises
        ------
        KeyError
            If one is not there.
        AgentConfigurationError
            If a model is needed and there is none.
        """
        with self._database.reading() as connection:
            found = [rows.read(connection, each) for each in _listed(ids)]
        return [each.to_guard(llm_client) for each in found if each.enabled]

    @staticmethod
    def split(guards: Iterable[Any]) -> tuple[Guards, Guards]:
        """Sort guards by their scope, those for both into both.

        Parameters
        ----------
        guards : iterable of callable
            Guards; a bare function is for both.

        Returns
        -------
        tuple of (list of Guard, list of Guard)
            Those for ``input_guards`` and those for ``output_guards``.
        """
        before, after = split(guards)
        return list(before), list(after)


def _file(path_or_store: str | os.PathLike[str] | SQLiteStore | None) -> Path:
    if path_or_store is None:
        return file_in_home(FILE_NAME)
    if isinstance(path_or_store, SQLiteStore):
        path = path_or_store.path
        return path.with_name(f"{path.stem}.{FILE_NAME}")
    return checked_path(
        path_or_store,
        owner="GuardrailService",
        instead="left out, it is in the folder of NOTEBOOK_AGENTS_HOME.",
    )


def _listed(ids: str | Iterable[str]) -> list[str]:
    return list(dict.fromkeys([ids] if isinstance(ids, str) else ids))
