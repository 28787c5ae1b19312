"""For tests: models without a model, services without a service, and what to keep.

`wire_server` stands in for a model service, `cassette` records a real one, and
`no_network` keeps tests at home. `check_memory_store` and `check_provider` tell
whether a store or a provider of your own keeps every promise. The fixtures for
pytest are in `notebook_agents.testing.fixtures`; nothing else here needs it.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from notebook_agents.providers.scripted import ScriptedProvider, call
    from notebook_agents.testing.memory_store import (
        MEMORY_STORE_PROMISES,
        check_memory_store,
    )
    from notebook_agents.testing.network import NetworkAccessError, no_network
    from notebook_agents.testing.provider import PROVIDER_PROMISES, check_provider
    from notebook_agents.testing.providers import EchoProvider, FunctionProvider
    from notebook_agents.testing.recorder import EventRecorder
    from notebook_agents.testing.tape import CassetteError, cassette
    from notebook_agents.testing.wire import (
        Scenario,
        WireServer,
        scenario,
        scenario_names,
        wire_server,
    )

_HOME = {
    "CassetteError": "testing.tape",
    "EchoProvider": "testing.providers",
    "EventRecorder": "testing.recorder",
    "FunctionProvider": "testing.providers",
    "MEMORY_STORE_PROMISES": "testing.memory_store",
    "NetworkAccessError": "testing.network",
    "PROVIDER_PROMISES": "testing.provider",
    "Scenario": "testing.wire",
    "ScriptedProvider": "providers.scripted",
    "WireServer": "testing.wire",
    "call": "providers.scripted",
    "cassette": "testing.tape",
    "check_memory_store": "testing.memory_store",
    "check_provider": "testing.provider",
    "no_network": "testing.network",
    "scenario": "testing.wire",
    "scenario_names": "testing.wire",
    "wire_server": "testing.wire",
}

__all__ = [
    "MEMORY_STORE_PROMISES",
    "PROVIDER_PROMISES",
    "CassetteError",
    "EchoProvider",
    "EventRecorder",
    "FunctionProvider",
    "NetworkAccessError",
    "Scenario",
    "ScriptedProvider",
    "WireServer",
    "call",
    "cassette",
    "check_memory_store",
    "check_provider",
    "no_network",
    "scenario",
    "scenario_names",
    "wire_server",
]


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    return getattr(importlib.import_module(f"notebook_agents.{home}"), name)
