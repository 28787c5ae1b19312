from notebook_agents import Agent, GuardrailService, open_session
from notebook_agents.testing import ScriptedProvider

# Stands for a real model, such as "anthropic:claude-sonnet-5-5" or "local".
model = ScriptedProvider(["Ask [EMAIL]."])

service = GuardrailService()
mail = service.create("No mail", kind="pii", config={"patterns": ["email"]})
words = service.create(
    "No projects",
    kind="keywords",
    config={"words": ["project swordfish"]},
    scope="input",
)
service.assign([words.id, mail.id], agent_id="helpdesk")

session = open_session("support")
service.assign(mail.id, session_id=session.conversation_id)

ids = service.assigned(agent_id="helpdesk", session_id=session.conversation_id)
before, after = service.split(service.instantiate_guards(ids))
agent = Agent(model, memory=session, input_guards=before, output_guards=after)
agent.run_sync("I am ada@example.org. Who can help?")
print(session.messages[0]["content"])  # I am [EMAIL]. Who can help?
