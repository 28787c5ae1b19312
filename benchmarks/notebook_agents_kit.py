"""What the overhead benchmark of agent kits asks of this one.

The names are those that the benchmark expects of an adapter: copy the file into
its folder of adapters and run one kit (see README.md).
"""

from __future__ import annotations

from typing import Any

from notebook_agents import Agent, InMemoryStore, tool
from notebook_agents.providers import OpenAICompatibleProvider

from .common import SYSTEM, add, pairs  # noqa: TID252 - a file of the benchmark

NAME, ASYNC = "notebook_agents", True
REQUIRES = ["notebook_agents"]
IMPORT = "import notebook_agents"
IMPORT_RUN = "from notebook_agents import Agent"
ADD = tool(add)  # as users do it: the schema is made once, not for each agent


def make_client(url: str, model: str) -> OpenAICompatibleProvider:
    return OpenAICompatibleProvider(url, model, api_key="sk-for-a-mock-server")


def make_agent(
    url: str,
    model: str,
    tools: bool = False,  # noqa: FBT001, FBT002 - as the benchmark calls it
    client: Any = None,
) -> Agent:
    provider = client or make_client(url, model)
    return Agent(provider, [ADD] if tools else [], system_prompt=SYSTEM, max_steps=20)


async def run_once(agent: Agent, prompt: str) -> str:
    fresh = InMemoryStore().session()
    return str(await agent.run(prompt, memory=fresh))


run_tools = run_once


async def stream(agent: Agent, prompt: str):
    async for text in agent.stream(prompt, memory=InMemoryStore().session()):
        yield text


def history(agent: Agent, n: int) -> Any:
    session = InMemoryStore().session()
    for question, answer in pairs(n):
        session.add({"role": "user", "content": question})
        session.add({"role": "assistant", "content": answer})
    return session


async def turn(agent: Agent, conversation: Any, prompt: str) -> str:
    return str(await agent.run(prompt, memory=conversation))


def serve(url: str, model: str) -> tuple[Any, str, dict[str, str]]:
    from notebook_agents import AgentAPI

    app, agent = AgentAPI(), make_agent(url, model)

    async def chat(question: dict[str, str]) -> Any:
        return agent.stream(question["message"], memory=InMemoryStore().session())

    app.stream("/chat")(chat)
    return app, "/chat", {"message": "hi"}
