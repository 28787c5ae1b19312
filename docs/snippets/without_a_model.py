from notebook_agents import Agent, ScriptedProvider, tool
from notebook_agents.testing import call


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


provider = ScriptedProvider([call("add", a=17, b=25), "It is 42."])
result = Agent(provider, [add]).run_sync("What is 17 + 25?")
assert result.answer == "It is 42."
provider.assert_done()
