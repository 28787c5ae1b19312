import re

from notebook_agents import Agent
from notebook_agents.testing import ScriptedProvider

model = ScriptedProvider(["I have written to her."])


def without_addresses(messages):
    return [
        {**message, "content": re.sub(r"\S+@\S+", "[address]", message["content"])}
        for message in messages
    ]


agent = Agent(model, history_processors=[without_addresses])
agent.run_sync("Write to ada@example.org.")

print(model.requests[0].messages[0].content)  # Write to [address]
print(agent.memory.messages[0]["content"])  # as it was asked
