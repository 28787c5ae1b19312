import asyncio

import httpx
from pydantic import BaseModel

from notebook_agents import Agent, AgentAPI, ScriptedProvider

agent = Agent(ScriptedProvider(["North grew most.", "North grew most."]), name="sales")
app = AgentAPI(title="Sales", sse_heartbeat_seconds=15)


class Question(BaseModel):
    """What a client asks."""

    text: str


@app.chat("/ask")
async def ask(question: Question):
    return {"answer": await agent.run(question.text)}


@app.stream("/ask/stream")
async def ask_stream(question: Question):
    return agent.stream(question.text)


async def main():
    transport = httpx.ASGITransport(app)  # a client without a network, as in tests
    async with httpx.AsyncClient(transport=transport, base_url="http://api") as client:
        question = {"text": "Which region grew?"}
        response = await client.post("/ask", json=question)
        assert response.json() == {"answer": "North grew most."}
        response = await client.post("/ask/stream", json=question)
        assert response.text.endswith("data: [DONE]\n\n")


if __name__ == "__main__":
    with asyncio.Runner() as runner:
        runner.run(main())
