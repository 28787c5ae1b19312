from notebook_agents import Agent
from notebook_agents.providers import OpenAICompatibleProvider
from notebook_agents.testing.wire import CUT, event, scenario, streamed, wire_server

half = streamed(event({"choices": [{"delta": {"content": "Half an ans"}}]}), CUT)

with wire_server(half, "chat/answer") as server:
    models = [
        OpenAICompatibleProvider(server.url, "first", max_retries=0),
        OpenAICompatibleProvider(server.url, "second", max_retries=0),
    ]
    result = Agent(models).run_sync("Hi")
    assert str(result) == scenario("chat/answer").text == "Hello."
    assert result.model == "openai-compatible:second"
    server.assert_done()
