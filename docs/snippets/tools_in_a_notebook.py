from notebook_agents import Agent, tool


@tool
def revenue(region: str, year: int = 2025) -> float:
    """Revenue of a region in a year, in dollars."""
    return {"North": 3.2e6, "South": 1.9e6}.get(region, 0.0)


agent = Agent("local", [revenue])
form = agent.tools["revenue"].form()  # the same as revenue.form()
print(form)  # what there is outside of a notebook
