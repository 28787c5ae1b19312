from notebook_agents import Agent, ScriptedProvider, ToolRetry, call, tool

SALES = {"north": 120, "south": 80}


@tool(retries=1, timeout=10)
def sales_of(region: str) -> int:
    """Tell the sales of a region, in boxes."""
    if region not in SALES:
        message = f"The regions are {', '.join(SALES)}."
        raise ToolRetry(message)
    return SALES[region]


model = ScriptedProvider(
    [call("sales_of", region="North"), call("sales_of", region="north"), "120 boxes."]
)
result = Agent(model, [sales_of]).run_sync("How much did the North sell?")
contents = [each["content"] for each in result.tool_calls]
assert contents == ["The regions are north, south.", "120"]
