"""A small real model that runs inside this process, without a key."""

from notebook_agents.providers.local.provider import LocalProvider

__all__ = ["LocalProvider"]
