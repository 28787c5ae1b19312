from notebook_agents import Agent, Progress, ScriptedProvider, call, tool


@tool(thread=True)
def import_files(paths: list[str]):
    """Import files."""
    yield "Opening the database"
    for number, path in enumerate(paths, 1):
        yield Progress(number, len(paths), path)
    return f"{len(paths)} files imported"


model = ScriptedProvider([call("import_files", paths=["a.csv", "b.csv"]), "Done."])
result = Agent(model, [import_files]).run_sync("Import a.csv and b.csv.")
assert result.tool_calls[0]["content"] == "2 files imported"
assert [event.message for event in result.events if event.event == "progress"] == [
    "Opening the database",
    "a.csv",
    "b.csv",
]
