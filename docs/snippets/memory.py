from notebook_agents import Agent
from notebook_agents.memory import list_sessions, open_session
from notebook_agents.testing import ScriptedProvider

# Stands for a real model, such as "anthropic:claude-sonnet-5-5" or "local".
model = ScriptedProvider(["Noted.", "Blue."])

session = open_session("thesis")
agent = Agent(model, memory=session)
agent.run_sync("My plots are blue.")
print(agent.run_sync("Which colour are my plots?"))

for info in list_sessions():
    print(info["title"], info["message_count"])
