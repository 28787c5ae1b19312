from notebook_agents import Agent
from notebook_agents.errors import StreamInterruptedError
from notebook_agents.providers import OpenAICompatibleProvider
from notebook_agents.testing import wire_server


def test_a_cut_answer_is_no_answer():
    with wire_server("chat/cut_stream") as server:
        provider = OpenAICompatibleProvider(server.url, "any-model", max_retries=0)
        try:
            Agent(provider).run_sync("Hi")
        except StreamInterruptedError:
            return
    raise AssertionError


def test_a_busy_service_is_asked_again():
    with wire_server("chat/status_429", "chat/answer") as server:
        provider = OpenAICompatibleProvider(server.url, "any-model")
        assert str(Agent(provider).run_sync("Hi")) == "Hello."
        refused, answered = server.requests
        assert refused.body == answered.body


test_a_cut_answer_is_no_answer()
test_a_busy_service_is_asked_again()
