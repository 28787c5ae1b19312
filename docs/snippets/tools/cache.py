from notebook_agents import Agent, ScriptedProvider, cached_tool, call


@cached_tool(maxsize=1000, risk="network")
def exchange_rate(currency: str, day: str = "today") -> float:
    """Tell what one euro costs."""
    return {"NOK": 11.5, "USD": 1.1}[currency]  # asks a slow service


model = ScriptedProvider([call("exchange_rate", currency="NOK"), "11.50 crowns."])
Agent(model, [exchange_rate]).run_sync("What is a euro in crowns?")

assert exchange_rate("NOK") == exchange_rate(currency="NOK", day="today")
assert exchange_rate.cache_info().misses == 1  # for all three
exchange_rate.cache_clear()
