from notebook_agents import Agent, ConversationService, ScriptedProvider, SQLiteStore

model = ScriptedProvider(["Hi Ada!", "Hi Bob!", "You are Ada."])
agent = Agent(model, memory=SQLiteStore("talks.sqlite").session())
service = ConversationService(agent)

await service.run("ticket 1", "I am Ada.")
await service.run("ticket 2", "I am Bob.")
print(await service.run("ticket 1", "Who am I?"))
