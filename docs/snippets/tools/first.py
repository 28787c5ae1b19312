from notebook_agents import Agent, ScriptedProvider, call, tool


@tool
def weekday(day: int, month: int, year: int = 2025) -> str:
    """Tell the weekday of a date."""
    from datetime import date

    return f"{date(year, month, day):%A}"


# Stands for a real model, such as "anthropic:claude-sonnet-5-5" or "local".
model = ScriptedProvider([call("weekday", day=17, month=5), "A Saturday."])

agent = Agent(model, [weekday])
result = agent.run_sync("Which weekday is 17 May?")
assert result.tool_calls[0]["content"] == "Saturday"
assert weekday(17, 5) == "Saturday"  # still your function
