"""For tests: models without a model, services without a service, and what to keep.

`wire_server` stands in for a model service, `cassette` records a real one, and
`no_network` keeps tests at home. `check_memory_store` and `check_provider` tell
whether a store or a provider of your own keeps every promise. The fixtures for
pytest are in `notebook_agents.testing.fixtures`; nothing else here needs it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from notebook_agents._lazy import lazy_names

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
    "CassetteError": "tape",
    "EchoProvider": "providers",
    "EventRecorder": "recorder",
    "FunctionProvider": "providers",
    "MEMORY_STORE_PROMISES": "memory_store",
    "NetworkAccessError": "network",
    "PROVIDER_PROMISES": "provider",
    "Scenario": "wire",
    "ScriptedProvider": ".providers.scripted",
    "WireServer": "wire",
    "call": ".providers.scripted",
    "cassette": "tape",
    "check_memory_store": "memory_store",
    "check_provider": "provider",
    "no_network": "network",
    "scenario": "wire",
    "scenario_names": "wire",
    "wire_server": "wire",
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

__getattr__, __dir__ = lazy_names(__name__, _HOME)
