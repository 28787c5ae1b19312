"""`Guardrail`: a guard as it is written down, and how a guard is made of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from notebook_agents.errors import AgentConfigurationError
from notebook_agents.guardrails.guard import Guard, Scope
from notebook_agents.guardrails.judge import llm_guard
from notebook_agents.guardrails.keywords import block_keywords
from notebook_agents.guardrails.pii import strip_pii
from notebook_agents.providers.base import BaseProvider

__all__ = ["Guardrail", "Kind"]

Kind = Literal["keywords", "pii", "llm"]

# What a guardrail can say: the arguments of the function that makes its guard.
_ARGUMENTS = {
    "keywords": {"words"},
    "pii": {"patterns", "extra"},
    "llm": {"policy", "on_error", "timeout"},
}
_NEEDED = {"keywords": {"words"}, "pii": set[str](), "llm": {"policy"}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Guardrail:
    """One guardrail as it is written down.

    Parameters
    ----------
    id : str
        Identifier.
    name : str
        Shown to people.
    kind : {"keywords", "pii", "llm"}
        What makes the guard: `block_keywords`, `strip_pii` or `llm_guard`.
    config : mapping
        The arguments for that, as JSON values.
    scope : {"input", "output", "both"}
        Which texts it is for.
    enabled : bool
        Whether it is in use.
    created_at : int
        Milliseconds since 1970, UTC.
    """

    id: str
    name: str
    kind: Kind
    config: Mapping[str, Any]
    scope: Scope = "both"
    enabled: bool = True
    created_at: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Give the guardrail as plain JSON values."""
        return asdict(self)

    def to_guard(self, llm_client: str | BaseProvider | None = None) -> Guard:
        """Make the guard.

        Parameters
        ----------
        llm_client : str or BaseProvider, optional
            The model that judges, for the kind ``llm``.

        Returns
        -------
        Guard
            With the name and the scope that are written down.

        Raises
        ------
        AgentConfigurationError
            If no guard can be made of what is written down, or a model is
            needed and there is none.
        """
        guard = self._made(llm_client)
        return Guard(guard, name=self.name, scope=self.scope)

    def _made(self, llm_client: str | BaseProvider | None) -> Guard:
        if self.kind == "keywords":
            return block_keywords(**self.config)
        if self.kind == "pii":
            return strip_pii(**self.config)
        _check_kind(self.kind)
        if llm_client is None:
            message = f"The guardrail {self.name!r} needs a model: pass llm_client=."
            raise AgentConfigurationError(message)
        return llm_guard(llm_client, **self.config)


def config_text(guardrail: Guardrail) -> str:
    """Write the configuration of a guardrail as JSON, if a guard can be made of it.

    Parameters
    ----------
    guardrail : Guardrail
        As it is to be written down.

    Returns
    -------
    str
        JSON text.

    Raises
    ------
    AgentConfigurationError
        If something about it cannot be right.
    """
    name: object = guardrail.name
    if not isinstance(name, str) or not name.strip():
        message = f"A guardrail needs a name, not {name!r}."
        raise AgentConfigurationError(message)
    _check_kind(guardrail.kind)
    _check_keys(guardrail.kind, guardrail.config)
    try:
        text = json.dumps(dict(guardrail.config), allow_nan=False)
        # No model is loaded or asked: one is named only to try the rest.
        guardrail.to_guard("local")
    except AgentConfigurationError:
        raise
    except (TypeError, ValueError) as error:
        message = f"The config of the guardrail {name!r} cannot be used: {error}."
        raise AgentConfigurationError(message) from error
    return text


def _check_kind(kind: object) -> None:
    if kind not in _ARGUMENTS:
        known = ", ".join(_ARGUMENTS)
        message = f"A guardrail is one of {known}, not {kind!r}."
        raise AgentConfigurationError(message)


def _check_keys(kind: Kind, config: Any) -> None:
    given = config if isinstance(config, Mapping) else {}
    if not _NEEDED[kind] <= set(given) <= _ARGUMENTS[kind]:
        known = ", ".join(sorted(_ARGUMENTS[kind]))
        found = ", ".join(map(repr, given)) or "nothing of it"
        message = f"The config of a {kind} guardrail has {known}; this one has {found}."
        raise AgentConfigurationError(message)
