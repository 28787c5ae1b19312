import httpx

from notebook_agents import Agent, ScriptedProvider
from notebook_agents.server import serve

agent = Agent(ScriptedProvider(["North grew most."]), name="sales")
server = serve(agent)

response = httpx.post(
    f"{server.url}/chat",
    headers={"Authorization": f"Bearer {server.token}"},
    json={"message": "Which region grew?", "conversation_id": "monday"},
)
assert response.json()["response"] == "North grew most."

server.stop()
