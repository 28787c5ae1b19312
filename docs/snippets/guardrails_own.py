import re

from notebook_agents import Agent, Guard, GuardrailBlockedError, call
from notebook_agents.testing import ScriptedProvider


def no_prices(text: str) -> str:
    return re.sub(r"\$\d+", "[PRICE]", text)


async def one_question(text: str) -> str:
    if text.count("?") > 1:
        reason = "one question at a time, please"
        raise GuardrailBlockedError(reason)
    return text


def look_up(article: str) -> str:
    """Look an article up."""
    return f"{article}: bought at $7, sold at $12"


model = ScriptedProvider([call("look_up", article="pen"), "Pens sell well."])
agent = Agent(
    model,
    [look_up],
    input_guards=one_question,
    tool_guards=Guard(no_prices, scope="output"),
)
result = agent.run_sync("How do pens sell?")
print(result.tool_calls[0]["content"])  # pen: bought at [PRICE], sold at [PRICE]
