from pydantic import BaseModel

from notebook_agents import Agent, ScriptedProvider


class Recipe(BaseModel):
    title: str
    steps: list[str]


model = ScriptedProvider(
    ['{"title": "Tea", "steps": ["Boil water.", "Wait four minutes."]}'],
    delay=0.02,  # as if it came over the network
)

stream = Agent(model, output_type=Recipe).stream("How do I make tea?")
async for recipe in stream.partials():
    print(recipe.title, recipe.steps)  # None, until it has come
assert recipe == Recipe(title="Tea", steps=["Boil water.", "Wait four minutes."])
