import sqlite3

from notebook_agents import Agent, RunContext, ScriptedProvider, call, tool

database = sqlite3.connect(":memory:", check_same_thread=False)
database.execute("create table sales (region text, boxes int)")
database.execute("insert into sales values ('north', 120)")


@tool
def boxes_of(region: str, context: RunContext[sqlite3.Connection]) -> int:
    """Count the boxes that a region sold."""
    query = "select sum(boxes) from sales where region = ?"
    return context.deps.execute(query, [region]).fetchone()[0]


model = ScriptedProvider([call("boxes_of", region="north"), "120."])
agent = Agent(model, [boxes_of], deps=database)
assert agent.run_sync("How many?").tool_calls[0]["content"] == "120"

# By hand, with a context of your own:
print(boxes_of("north", RunContext(deps=database)))
