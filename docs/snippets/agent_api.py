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
