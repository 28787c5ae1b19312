from notebook_agents import Agent, HistoryBudget
from notebook_agents.testing import ScriptedProvider

# Stands for a real model, such as "anthropic:claude-sonnet-5-5" or "local".
model = ScriptedProvider([f"Answer {number}." for number in range(10)])

agent = Agent(model, history=HistoryBudget(max_tokens=40))
for number in range(10):
    agent.run_sync(f"Question {number}?")

sent = [message.content for message in model.requests[-1].messages]
print(sent)  # the last turns, and the question
assert len(sent) < len(agent.memory.messages)
