from notebook_agents import Agent, GuardrailBlockedError, block_keywords, strip_pii
from notebook_agents.testing import ScriptedProvider

# Stands for a real model, such as "anthropic:claude-sonnet-5-5" or "local".
model = ScriptedProvider(["Write to ada@example.org."])

agent = Agent(
    model,
    input_guards=[block_keywords(["project swordfish"])],
    output_guards=[strip_pii()],
)
print(agent.run_sync("Who can help me?"))  # Write to [EMAIL].

try:
    agent.run_sync("What is Project Swordfish?")
except GuardrailBlockedError as error:
    print(error)  # Guard 'block_keywords' blocked the message: ...
