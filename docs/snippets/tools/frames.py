import pandas as pd

from notebook_agents import Agent, ScriptedProvider, call, tool


@tool
def largest(table: pd.DataFrame, column: str, n: int = 5) -> pd.DataFrame:
    """Take the rows with the largest values of a column."""
    return table.nlargest(n, column)


@tool
def total(table: pd.DataFrame, column: str) -> float:
    """Add up a column."""
    return table[column].sum()


sales = pd.DataFrame({"shop": ["Oslo", "Bergen", "Bodø"], "boxes": [70, 50, 20]})

model = ScriptedProvider(
    [
        call("largest", table="sales", column="boxes", n=2),
        call("total", table="df_1", column="boxes"),
        "The two largest shops sold 120 boxes.",
    ]
)
# A notebook needs no namespace: the model may name your variables there.
agent = Agent(model, [largest, total], namespace={"sales": sales})
result = agent.run_sync("How much did the two largest shops in sales sell?")

assert result.tool_calls[1]["content"] == "120"
assert list(agent.handles["df_1"]["shop"]) == ["Oslo", "Bergen"]
