"""A turn that a guard stopped is an answer, and tells nothing of what it stopped."""

from __future__ import annotations

import json
import logging

import httpx
import pytest
from fastapi import FastAPI

from notebook_agents import AgentAPI, block_keywords, call, strip_pii
from notebook_agents.server import sse_response
from tests.server.support import add, agent_of, kinds, requests_of

WORD = "swordfish"
GUARD = block_keywords([WORD])
MESSAGE_BLOCKED = "Guard 'block_keywords' blocked the message: it has a word that is not allowed here."
ANSWER_BLOCKED = MESSAGE_BLOCKED.replace("the message", "the answer")


# ------------------------------------------------------------ a served agent


def test_a_blocked_message_is_answered_and_never_sent_to_the_model(served, caplog):
    caplog.set_level(logging.INFO)
    agent = agent_of("Fine.", input_guards=GUARD)
    caller = served(agent)
    response = caller.chat(f"a {WORD}", conversation_id="c", user_id="ada")
    assert response.status_code == 200
    body = response.json()
    assert body["is_blocked"] is True
    assert body["response"] == body["response_markdown"] == MESSAGE_BLOCKED
    assert (body["conversation_id"], body["user_id"]) == ("c", "ada")
    assert body["errors"] == ["GuardrailBlockedError"]
    assert requests_of(agent) == []
    assert "guard block_keywords blocked the input" in caplog.text
    assert WORD not in caplog.text + response.text
    after = caller.chat("Hello", conversation_id="c", user_id="ada").json()
    assert (after["response"], after["is_blocked"]) == ("Fine.", False)
    assert after["turn_number"] == 1
    assert [m.content for m in requests_of(agent)[0].messages] == ["Hello"]


def test_a_blocked_answer_is_not_told(served, caplog):
    caplog.set_level(logging.DEBUG)
    agent = agent_of(f"It is {WORD}.", output_guards=GUARD)
    body = served(agent).chat().json()
    assert (body["response"], body["is_blocked"]) == (ANSWER_BLOCKED, True)
    assert WORD not in caplog.text + json.dumps(body)


def test_a_blocked_stream_is_done_with_the_same(served):
    agent = agent_of(f"It is {WORD}.", output_guards=GUARD, chunk=2)
    caller = served(agent)
    frames = caller.stream(stream_tokens=True)
    assert kinds(frames) == ["guardrail", "done"]
    data = frames[0].data["data"]
    assert data == {
        "step": 1,
        "stage": "output",
        "guard": "block_keywords",
        "action": "blocked",
    }
    assert frames[-1].data["response"] == ANSWER_BLOCKED
    assert frames[-1].data["is_blocked"] is True
    run = caller.http.get(f"/runs/{caller.last.headers['x-run-id']}")
    assert run.json()["status"] == "done"
    assert run.json()["response"]["is_blocked"] is True
    events = caller.http.get(f"/runs/{caller.last.headers['x-run-id']}/events").text
    assert WORD not in run.text + events + str(frames)


def test_a_changed_answer_is_all_that_a_client_sees(served):
    agent = agent_of(
        ["I ask a@b.de.", call("add", a=1, b=2)],
        "a@b.de says 3.",
        "Bye.",
        tools=[add],
        output_guards=strip_pii(),
    )
    caller = served(agent)
    frames = caller.stream(stream_tokens=True, conversation_id="c")
    texts = [f.data["data"]["text"] for f in frames if f.data.get("type") == "token"]
    assert texts == ["I ask [EMAIL].", "[EMAIL] says 3."]
    assert frames[-1].data["response"] == "[EMAIL] says 3."
    assert "a@b.de" not in str(frames)
    caller.chat(conversation_id="c")
    assert "a@b.de" not in str(requests_of(agent)[-1].messages)


def test_a_guard_that_fails_answers_without_its_words(served, caplog):
    def broken(text: str) -> str:
        message = f"postgres://u:p@h {text}"
        raise OSError(message)

    response = served(agent_of(input_guards=broken)).chat(WORD)
    assert response.status_code == 200
    assert response.json()["response"] == (
        "Guard 'broken' blocked the message, as it raised OSError."
    )
    for secret in (WORD, "postgres"):
        assert secret not in response.text + caplog.text


def test_a_guard_that_is_none_is_a_fault_of_the_server(served):
    response = served(agent_of("x", output_guards=lambda _: None)).chat()
    assert response.status_code == 500
    assert response.json()["error"] == "AgentConfigurationError"


# ------------------------------------------------------------ an application


async def post(app, path, message="go"):
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://api") as http:
        return await http.post(path, params={"message": message})


def app_of(*script, **options):
    app, agent = AgentAPI(), agent_of(*script, **options)

    @app.chat("/chat")
    async def chat(message: str):
        return {"response": await agent.run(message)}

    @app.stream("/stream")
    async def stream(message: str):
        return agent.stream(message)

    return app


@pytest.mark.parametrize("path", ["/chat", "/stream"])
async def test_an_application_answers_what_is_blocked_with_400(path, caplog):
    caplog.set_level(logging.DEBUG, logger="notebook_agents")
    app = app_of("x", input_guards=GUARD)
    response = await post(app, path, f"a {WORD}")
    assert response.status_code == 400
    assert response.json() == {"error": MESSAGE_BLOCKED, "is_blocked": True}
    assert WORD not in caplog.text


@pytest.mark.parametrize("path", ["/chat", "/stream"])
async def test_an_answer_that_is_blocked_is_a_400_too(path):
    app = app_of(f"It is {WORD}.", output_guards=GUARD)
    response = await post(app, path)
    assert response.status_code == 400
    assert response.json() == {"error": ANSWER_BLOCKED, "is_blocked": True}


async def test_an_answer_that_is_blocked_after_a_text_ends_the_stream_with_an_error():
    script = [["I add.", call("add", a=1, b=2)], f"It is {WORD}."]
    app = app_of(*script, tools=[add], output_guards=GUARD)
    text = (await post(app, "/stream")).text
    assert text == (
        f"data: I add.\n\nevent: error\ndata: {ANSWER_BLOCKED}\n\ndata: [DONE]\n\n"
    )


async def test_a_handler_of_your_own_wins():
    from fastapi.responses import JSONResponse

    from notebook_agents import GuardrailBlockedError

    app, agent = AgentAPI(), agent_of(input_guards=GUARD)

    @app.exception_handler(GuardrailBlockedError)
    async def blocked(_request, error):
        return JSONResponse({"guard": error.guard}, status_code=403)

    @app.chat("/chat")
    async def chat(message: str):
        return await agent.run(message)

    response = await post(app, "/chat", WORD)
    assert (response.status_code, response.json()) == (403, {"guard": "block_keywords"})


async def test_a_plain_application_answers_the_same():
    app, agent = FastAPI(), agent_of(input_guards=GUARD)

    @app.post("/ask")
    async def ask(message: str):
        return sse_response(agent.stream(message))

    response = await post(app, "/ask", WORD)
    assert response.status_code == 400
    assert response.json() == {"error": MESSAGE_BLOCKED, "is_blocked": True}
