from notebook_agents import Agent, HistoryBudget
from notebook_agents.testing import ScriptedProvider

# Stand for real models; the one that summarises may be a small one.
small = ScriptedProvider(["Ada plots sales by region, in blue."])
model = ScriptedProvider(["Noted.", "Noted.", "Blue."])

budget = HistoryBudget(max_messages=3, summarize=Agent(small))
agent = Agent(model, history=budget)
agent.run_sync("I plot sales by region.")
agent.run_sync("My plots are blue.")
print(agent.run_sync("Which colour are my plots?"))

print(model.requests[-1].messages[0].content)
