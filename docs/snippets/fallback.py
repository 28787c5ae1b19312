from notebook_agents import Agent, AgentProviderError, ScriptedProvider

# Two models without a service, of which the first is out of order.
first = ScriptedProvider([AgentProviderError("It is overloaded.", retryable=True)])
second = ScriptedProvider(["Hello from the second one."])
second.name = "second"

agent = Agent([first, second])
result = agent.run_sync("Hi")
assert str(result) == "Hello from the second one."
assert result.model == "second:script"
[told] = [event for event in result.events if event.event == "retry"]
assert told.reason == "scripted:script: It is overloaded"
assert told.model == "second:script"
