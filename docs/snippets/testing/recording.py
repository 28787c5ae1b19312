from pathlib import Path

from notebook_agents import Agent
from notebook_agents.providers import OpenAICompatibleProvider
from notebook_agents.testing import CassetteError, cassette, wire_server

with wire_server("chat/answer") as server:  # stands for the real service
    provider = OpenAICompatibleProvider(server.url, "any-model", "sk-a-key-of-yours-1")
    with cassette("cassettes/hello.json") as tape:
        assert tape.is_recording
        Agent(provider).run_sync("Hi")

# From here on there is no service.
with cassette("cassettes/hello.json", record=False) as tape:
    assert str(Agent(provider).run_sync("Hi")) == "Hello."

assert "sk-a-key" not in Path("cassettes/hello.json").read_text()

try:
    with cassette("cassettes/hello.json"):
        Agent(provider).run_sync("Good evening")
except CassetteError as error:
    print(error)
else:
    raise AssertionError
