from notebook_agents import Agent, HistoryBuffer
from notebook_agents.testing import ScriptedProvider

model = ScriptedProvider(["Hi Ada!", "You are Ada."])
agent = Agent(model)

buffer = HistoryBuffer(max_tokens=8000)
buffer.pin("Today is Monday.")
result = agent.run_sync("I am Ada.", prior_messages=buffer.get())
buffer.extend(result["messages"])

# The same two lines in one; `await buffer.run(...)` in async code.
print(buffer.run_sync(agent, "Who am I?"))
print(buffer)
