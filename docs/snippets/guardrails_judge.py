from notebook_agents import Agent, GuardrailBlockedError, llm_guard
from notebook_agents.testing import ScriptedProvider

# Both stand for real models; the judge may be a smaller one than the agent's.
judge = ScriptedProvider(['{"reason": "gives medical advice", "status": "BLOCK"}'])
model = ScriptedProvider(["Take two of these."])

careful = llm_guard(judge, "No medical advice; general information is fine.")
agent = Agent(model, output_guards=careful)
try:
    agent.run_sync("My head hurts.")
except GuardrailBlockedError as error:
    print(error)  # Guard 'llm_guard' blocked the answer: gives medical advice.
