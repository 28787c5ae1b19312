"""Asking a served agent and waiting for the whole answer."""

from __future__ import annotations

import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest

from notebook_agents import InMemoryStore, call
from notebook_agents.server import serve
from notebook_agents.server.schemas import ChatResponse
from tests.server.support import Gate, add, agent_of, holding, requests_of

FIELDS = {
    "response": str,
    "response_markdown": str,
    "message_id": str,
    "trace_id": str,
    "conversation_id": str,
    "user_id": str,
    "invoked_flows": list,
    "invoked_tools": list,
    "errors": list,
    "turn_number": int,
    "is_blocked": bool,
    "latency_ms": int,
}


def test_an_answer_has_exactly_the_twelve_fields(served):
    """Requirements, B10."""
    body = served(agent_of("Hello!")).chat(user_id="ada").json()
    assert {name: type(value) for name, value in body.items()} == FIELDS
    assert list(ChatResponse.model_fields) == list(FIELDS)
    assert body["response"] == body["response_markdown"] == "Hello!"
    assert body["user_id"] == "ada"


def test_a_tool_turn_tells_which_tools_were_called(served):
    agent = agent_of(call("add", a=1, b=2), "It is 3.", tools=[add])
    assert served(agent).chat().json()["invoked_tools"] == ["add"]


def test_a_conversation_goes_on_under_its_identifier(served):
    agent = agent_of("One.", "Two.")
    caller = served(agent)
    first = caller.chat("first").json()
    second = caller.chat("second", conversation_id=first["conversation_id"]).json()
    assert (first["turn_number"], second["turn_number"]) == (1, 2)
    said = [m.content for m in requests_of(agent)[1].messages]
    assert said == ["first", "One.", "second"]


def test_a_blank_conversation_begins_a_new_one_each_time(served):
    caller = served(agent_of("One.", "Two."))
    bodies = [caller.chat(conversation_id=blank).json() for blank in ("", "  ")]
    assert len({uuid.UUID(body["conversation_id"]) for body in bodies}) == 2
    assert [body["turn_number"] for body in bodies] == [1, 1]


def test_any_word_may_name_a_conversation_and_comes_back_as_it_was(served):
    """Requirements, D13."""
    caller = served(agent_of("One.", "Two."))
    bodies = [caller.chat(conversation_id="Ada's plan").json() for _ in range(2)]
    assert [body["conversation_id"] for body in bodies] == ["Ada's plan"] * 2
    assert [body["turn_number"] for body in bodies] == [1, 2]


def test_two_users_never_share_a_conversation(served):
    caller = served(agent_of("One.", "Two."))
    turns = [
        caller.chat(conversation_id="shared", user_id=user).json()["turn_number"]
        for user in ("ada", "bob")
    ]
    assert turns == [1, 1]


def test_context_reaches_the_model_in_the_words_of_the_user(served):
    agent = agent_of("Noted.", system_prompt="Be brief.")
    served(agent).chat("Which?", explicit_context=["The sky is green.", " "])
    system, user = requests_of(agent)[0].messages
    assert system.content == "Be brief."
    assert user.content == "Context for this message:\n- The sky is green.\n\nWhich?"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"message": "x" * 21}, "message"),
        ({"message": "x" * 15, "explicit_context": ["y" * 6]}, "message"),
        ({"message": "  \n"}, "message"),
        ({}, "message"),
        ({"message": "Hi", "conversation_id": "c" * 129}, "conversation_id"),
        ({"message": "Hi", "user_id": " "}, "user_id"),
    ],
)
def test_a_wrong_request_is_refused_before_the_agent_hears_of_it(served, body, field):
    agent = agent_of("never")
    response = served(agent, max_message_length=20).http.post("/chat", json=body)
    assert response.status_code == 422
    assert response.json()["error"] == "ValidationError"
    assert response.json()["detail"].startswith(f"{field}: ")
    assert requests_of(agent) == []


@pytest.mark.parametrize(
    "body",
    [
        r'{"message": "\ud800"}',
        r'{"message": "Hi", "conversation_id": "\ud800"}',
        r'{"message": "Hi", "user_id": "\ud800"}',
        r'{"message": "Hi", "explicit_context": ["\ud800"]}',
    ],
)
def test_half_a_character_is_refused_before_the_agent_hears_of_it(served, body):
    agent = agent_of("never")
    headers = {"Content-Type": "application/json"}
    response = served(agent).http.post("/chat", content=body, headers=headers)
    assert response.status_code == 422
    assert "unicode" in response.json()["detail"]
    assert requests_of(agent) == []


def test_a_refusal_does_not_repeat_what_was_sent(served):
    response = served(agent_of()).http.post("/chat", json={"message": ["hunter2"]})
    assert response.status_code == 422
    assert "hunter2" not in response.text


def test_two_requests_in_one_conversation_wait_for_each_other(served):
    """The stored order is question, answer, question, answer."""
    gate = Gate()
    agent = holding(gate, "One.", "Two.", "Three.")
    caller = served(agent)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(caller.chat, "first", conversation_id="c")
        gate.entering()
        second = pool.submit(caller.chat, "second", conversation_id="c")
        other = caller.chat("elsewhere", conversation_id="d").json()
        assert not first.done()
        assert not second.done()
        gate.opened.set()
        turns = [first.result().json(), second.result().json()]
    assert other["turn_number"] == 1
    assert [turn["turn_number"] for turn in turns] == [1, 2]


def test_eight_clients_are_served_at_the_same_time(served):
    caller = served(agent_of(*[f"answer {n}" for n in range(8)], delay=0.02))
    with ThreadPoolExecutor(8) as pool:
        bodies = list(pool.map(lambda _: caller.chat().json(), range(8)))
    assert {body["response"] for body in bodies} == {f"answer {n}" for n in range(8)}


def test_a_full_server_says_when_to_come_back(served):
    gate = Gate()
    caller = served(holding(gate), max_concurrent_runs=1)
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(caller.chat)
        gate.entering()
        refused = caller.chat()
        gate.opened.set()
        assert running.result().status_code == 200
    assert refused.status_code == 429
    assert refused.headers["Retry-After"] == "1"
    assert refused.json()["error"] == "TooManyRuns"


def test_conversations_are_kept_in_the_given_store(caller_of):
    store = InMemoryStore()
    server = serve(agent_of("Hello!"), store=store)
    conversation = str(uuid.uuid4())
    caller_of(server).chat("Hi", conversation_id=conversation, user_id="ada")
    session = store.session(conversation_id=conversation, user_id="ada", agent_id="bot")
    assert [m["content"] for m in session.messages] == ["Hi", "Hello!"]


@pytest.mark.parametrize(
    "body",
    [
        {"message": "\x1c"},
        {"message": " \u2003\x1f"},
        {"message": "Hi", "user_id": "\x1f"},
        {"message": "Hi", "conversationId": "c"},
        {"message": "Hi", "user": "ada"},
    ],
    ids=ascii,
)
def test_what_is_blank_or_misspelt_is_refused(served, body):
    agent = agent_of("never")
    response = served(agent).http.post("/chat", json=body)
    assert response.status_code == 422
    assert response.json()["error"] == "ValidationError"
    assert requests_of(agent) == []


def test_the_description_tells_the_errors_that_are_sent(served):
    api = served(agent_of()).http.get("/openapi.json").json()
    assert "HTTPValidationError" not in api["components"]["schemas"]
    guarded = [
        (path, method)
        for path, methods in api["paths"].items()
        for method in methods
        if path not in {"/health", "/info"}
    ]
    assert len(guarded) == 7
    for path, method in guarded:
        answers = api["paths"][path][method]["responses"]
        assert {"401", "403", "413", "415", "422"} <= set(answers), path
        assert ("404" in answers) == ("{" in path)
        for status in set(answers) - {"200", "202"}:
            schema = answers[status]["content"]["application/json"]["schema"]
            assert schema == {"$ref": "#/components/schemas/ErrorResponse"}


def test_a_probe_may_ask_without_wanting_the_answer(served):
    response = served(agent_of()).http.head("/health")
    assert (response.status_code, response.content) == (200, b"")


def test_the_page_tells_what_to_do_where_its_scripts_cannot_be_reached(served):
    page = served(agent_of()).http.get("/docs").text
    assert "if (!window.SwaggerUIBundle" in page
    assert "cannot be reached from here" in page
    assert 'fetch("/openapi.json")' in page
