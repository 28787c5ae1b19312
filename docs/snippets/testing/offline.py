from notebook_agents import Agent
from notebook_agents.testing import EchoProvider, no_network

with no_network():
    assert str(Agent(EchoProvider("You said: ")).run_sync("hello")) == "You said: hello"
