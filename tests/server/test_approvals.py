"""Consent over HTTP: who decides, how often, and what becomes of the run."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from notebook_agents import Agent, Orchestrator, ScriptedProvider, call, tool
from notebook_agents.approval import Allow
from notebook_agents.server import serve
from tests.server.support import (
    Caller,
    agent_of,
    erasing,
    kinds,
    read_frames,
    requests_of,
)


def _erasing_agent(done: list[str], **options):
    script = [call("erase", table="sales"), "All done."]
    return agent_of(*script, tools=[erasing(done)], **options)


def _asking_agent():
    """Make an agent that may ask in several runs at once, whatever their order."""

    class Asking(ScriptedProvider):
        async def respond(self, request):
            is_first = request.messages[-1].role == "user"
            script = [call("erase", table="sales") if is_first else "All done."]
            async for delta in ScriptedProvider(script).respond(request):
                yield delta

    return Agent(Asking([]), [erasing([])], name="bot")


def _asked(frames) -> dict:
    """Read on until a call waits."""
    for frame in frames:
        if frame.data["type"] == "approval_request":
            return frame.data["data"]
    pytest.fail("nothing was asked")


def _next_result(frames) -> dict:
    """Read on until a question is decided."""
    return next(f.data["data"] for f in frames if f.data["type"] == "approval_result")


def test_without_anybody_to_ask_the_call_is_denied_and_the_flag_named(served):
    done = []
    frames = served(_erasing_agent(done)).stream()
    assert done == []
    assert kinds(frames)[-1] == "done"
    results = [f.data for f in frames if f.data.get("type") == "tool_result"]
    assert 'approvals="wait"' in results[0]["data"]["content"]


def test_who_is_asked_is_told_that_a_rule_failed(served):
    agent = _erasing_agent([], policy={"erase": lambda args: args["rows"] > 1})
    caller = served(agent, approvals="wait")
    with caller.streaming() as frames:
        asked = _asked(frames)
        assert (
            asked["note"] == "The rule 'erase' of the policy failed: KeyError: 'rows'."
        )
        (listed,) = caller.http.get("/approvals").json()["approvals"]
        assert listed["note"] == asked["note"]


def test_a_call_that_is_allowed_runs(served):
    done = []
    caller = served(_erasing_agent(done), approvals="wait")
    with caller.streaming() as frames:
        asked = _asked(frames)
        assert (asked["tool"], asked["args"]) == ("erase", {"table": "sales"})
        assert asked["risk"] == "write"
        (listed,) = caller.http.get("/approvals").json()["approvals"]
        assert listed["id"] == asked["id"]
        assert listed["run_id"] == caller.last.headers["x-run-id"]
        assert done == []
        answer = caller.http.post(
            f"/approvals/{asked['id']}", json={"decision": "allow"}
        )
        assert answer.json() == {"id": asked["id"], "decision": "allow"}
        rest = list(frames)
    assert done == ["sales"]
    assert kinds(rest) == ["approval_result", "tool_result", "done"]
    assert rest[0].data["data"]["by"] == "http"
    assert caller.http.get("/approvals").json() == {"approvals": []}


def test_a_denial_tells_the_model_why_and_the_run_goes_on(served):
    done = []
    caller = served(_erasing_agent(done), approvals="wait")
    with caller.streaming() as frames:
        body = {"decision": "deny", "reason": "not on a Friday"}
        caller.http.post(f"/approvals/{_asked(frames)['id']}", json=body)
        rest = list(frames)
    assert done == []
    assert "not on a Friday" in rest[1].data["data"]["content"]
    assert rest[-1].data["response"] == "All done."


def test_a_call_is_allowed_with_other_arguments_and_the_model_is_told(served):
    done = []
    agent = _erasing_agent(done)
    caller = served(agent, approvals="wait")
    with caller.streaming() as frames:
        body = {"decision": "allow", "args": {"table": "test"}}
        path = f"/approvals/{_asked(frames)['id']}"
        assert caller.http.post(path, json=body).status_code == 200
        rest = list(frames)
    assert done == ["test"]
    assert rest[0].data["data"]["args"] == {"table": "test"}
    told = requests_of(agent)[1].messages[-1].content
    assert "The user changed the arguments" in told
    assert '{"table":"test"}' in told
    assert told.endswith("erased test")


def test_arguments_that_a_rule_denies_are_refused_and_the_call_still_waits(served):
    done = []
    rule = {"erase": lambda args: "ask" if args["table"] == "sales" else "deny"}
    caller = served(_erasing_agent(done, policy=rule), approvals="wait")
    with caller.streaming() as frames:
        path = f"/approvals/{_asked(frames)['id']}"
        body = {"decision": "allow", "args": {"table": "users"}}
        refused = caller.http.post(path, json=body)
        assert refused.status_code == 422
        assert "A rule of the policy denies erase" in refused.json()["detail"]
        assert caller.http.post(path, json={"decision": "allow"}).status_code == 200
        list(frames)
    assert done == ["sales"]


def test_arguments_that_a_guard_blocks_are_not_run_and_the_stream_says_so(served):
    def no_users(text):
        if "users" in text:
            raise ValueError(text)
        return text

    done = []
    caller = served(_erasing_agent(done, tool_guards=no_users), approvals="wait")
    with caller.streaming() as frames:
        body = {"decision": "allow", "args": {"table": "users"}}
        caller.http.post(f"/approvals/{_asked(frames)['id']}", json=body)
        rest = [frame.data for frame in frames]
    assert done == []
    (decided,) = [each for each in rest if each.get("type") == "approval_result"]
    assert decided["data"]["decision"] == "deny"
    assert "no_users" in decided["data"]["reason"]
    assert "no_users" in rest[-1]["errors"][0]


@pytest.mark.parametrize(
    "args", [{}, {"table": 1}, {"table": "t", "more": 1}], ids=["none", "type", "extra"]
)
def test_arguments_that_do_not_fit_are_refused_and_the_call_still_waits(served, args):
    done = []
    caller = served(_erasing_agent(done), approvals="wait")
    with caller.streaming() as frames:
        path = f"/approvals/{_asked(frames)['id']}"
        body = {"decision": "allow", "args": args}
        refused = caller.http.post(path, json=body)
        assert refused.status_code == 422
        assert refused.json()["error"] == "ToolArgumentsError"
        assert len(caller.http.get("/approvals").json()["approvals"]) == 1
        assert caller.http.post(path, json={"decision": "allow"}).status_code == 200
        list(frames)
    assert done == ["sales"]
    assert caller.http.post(path, json=body).status_code == 409


@pytest.mark.parametrize(
    "body",
    [
        {"decision": "allow", "arguments": {"table": "test"}},
        {"decision": "deny", "args": {"table": "test"}},
        {"decision": "allow", "args": "test"},
    ],
    ids=["misspelt", "with a denial", "no object"],
)
def test_a_decision_is_not_taken_for_another_than_was_meant(served, body):
    done = []
    caller = served(_erasing_agent(done), approvals="wait")
    with caller.streaming() as frames:
        path = f"/approvals/{_asked(frames)['id']}"
        assert caller.http.post(path, json=body).status_code == 422
        caller.http.post(path, json={"decision": "deny"})
        list(frames)
    assert done == []


@pytest.mark.parametrize("until", ["NaN", '"nan"', "Infinity", "1e400", "-1e400"])
def test_an_end_that_is_no_moment_is_refused_and_the_call_still_waits(served, until):
    done = []
    caller = served(_erasing_agent(done), approvals="wait")
    with caller.streaming() as frames:
        path = f"/approvals/{_asked(frames)['id']}"
        refused = caller.http.post(
            path,
            content=f'{{"decision": "always", "until": {until}}}',
            headers={"Content-Type": "application/json"},
        )
        assert refused.status_code == 422
        assert refused.json()["detail"] == "until: Input should be a finite number"
        caller.http.post(path, json={"decision": "deny"})
        list(frames)
    assert done == []


def test_the_words_of_a_tool_that_failed_with_changed_arguments_stay_here(served):
    @tool(approval=True)
    def look(table: str) -> str:
        """Look."""
        raise ValueError("hunter2 " + table)

    agent = agent_of(call("look", table="a"), "It failed.", tools=[look])
    caller = served(agent, approvals="wait")
    with caller.streaming() as frames:
        body = {"decision": "allow", "args": {"table": "b"}}
        caller.http.post(f"/approvals/{_asked(frames)['id']}", json=body)
        rest = list(frames)
    assert "hunter2" not in str([frame.data for frame in rest])
    assert "hunter2 b" in requests_of(agent)[1].messages[-1].content


def test_runs_that_wait_do_not_keep_others_from_working(served):
    caller = served(_asking_agent(), approvals="wait", max_concurrent_runs=1)
    with caller.streaming() as one, caller.streaming() as two:
        asked = [_asked(one), _asked(two)]
        assert len(caller.http.get("/approvals").json()["approvals"]) == 2
        for each in asked:
            body = {"decision": "deny"}
            caller.http.post(f"/approvals/{each['id']}", json=body)
        assert kinds(list(one))[-1] == kinds(list(two))[-1] == "done"


def test_a_call_beyond_the_most_that_may_wait_is_denied(served):
    caller = served(_asking_agent(), approvals="wait", max_waiting_runs=1)
    with caller.streaming() as one:
        asked = _asked(one)
        results = [f.data for f in caller.stream() if f.event == "intermediate"]
        denied = [r["data"] for r in results if r["type"] == "approval_result"]
        assert denied[0]["decision"] == "deny"
        assert "too many" in denied[0]["reason"]
        caller.http.post(f"/approvals/{asked['id']}", json={"decision": "deny"})
        list(one)


def test_always_allows_later_calls_of_that_user_and_asks_another(served):
    keys = {"key-of-ada": "ada", "key-of-bob": "bob"}
    owner = served(_asking_agent(), approvals="wait", api_keys=keys)
    url = str(owner.http.base_url)
    ada, bob = Caller(url, "key-of-ada"), Caller(url, "key-of-bob")
    for caller, asks in [(ada, True), (ada, False), (bob, True)]:
        with caller.streaming() as frames:
            if asks:
                path = f"/approvals/{_asked(frames)['id']}"
                answer = caller.http.post(path, json={"decision": "always"})
                assert answer.json()["decision"] == "always"
            said = [f.data for f in frames if f.data.get("type") == "approval_result"]
        assert (said[0]["data"]["by"] != "session") is asks
    ada.http.close()
    bob.http.close()


def test_a_stop_ends_the_run(served):
    done = []
    caller = served(_erasing_agent(done), approvals="wait")
    with caller.streaming() as frames:
        path = f"/approvals/{_asked(frames)['id']}"
        caller.http.post(path, json={"decision": "stop"})
        rest = list(frames)
    assert done == []
    assert kinds(rest)[-1] == "error"
    assert rest[-1].data["error"] == "RunCancelledError"


def test_only_the_first_decision_counts(served):
    done = []
    caller = served(_erasing_agent(done), approvals="wait")
    with caller.streaming() as frames:
        path = f"/approvals/{_asked(frames)['id']}"
        bodies = [{"decision": "allow"}, {"decision": "deny"}]
        with ThreadPoolExecutor(2) as pool:
            codes = list(
                pool.map(lambda b: caller.http.post(path, json=b).status_code, bodies)
            )
        assert sorted(codes) == [200, 409]
        list(frames)
    late = caller.http.post(path, json={"decision": "allow"})
    assert late.status_code == 409
    assert late.json()["error"] == "AlreadyDecided"
    assert len(done) <= 1


def test_an_unknown_question_is_not_found(served):
    caller = served(_erasing_agent([]), approvals="wait")
    response = caller.http.post("/approvals/nope", json={"decision": "allow"})
    assert response.status_code == 404


def test_a_decision_that_is_none_leaves_the_question_open(served):
    caller = served(_erasing_agent([]), approvals="wait")
    with caller.streaming() as frames:
        path = f"/approvals/{_asked(frames)['id']}"
        assert caller.http.post(path, json={"decision": "maybe"}).status_code == 422
        assert len(caller.http.get("/approvals").json()["approvals"]) == 1
        caller.http.post(path, json={"decision": "deny"})
        list(frames)


def test_somebody_else_neither_sees_nor_decides_it(served):
    keys = {"key-of-ada": "ada", "key-of-bob": "bob"}
    done = []
    owner = served(_erasing_agent(done), approvals="wait", api_keys=keys)
    url = str(owner.http.base_url)
    ada, bob = Caller(url, "key-of-ada"), Caller(url, "key-of-bob")
    with ada.streaming() as frames:
        path = f"/approvals/{_asked(frames)['id']}"
        assert bob.http.get("/approvals").json() == {"approvals": []}
        assert bob.http.post(path, json={"decision": "allow"}).status_code == 404
        assert done == []
        assert ada.http.post(path, json={"decision": "allow"}).status_code == 200
        rest = list(frames)
    assert rest[0].data["data"]["by"] == "http:ada"
    ada.http.close()
    bob.http.close()


def test_a_client_that_goes_away_leaves_a_waiting_run_alone(served):
    done = []
    caller = served(_erasing_agent(done), approvals="wait")
    with caller.streaming() as frames:
        asked = _asked(frames)
        run = f"/runs/{caller.last.headers['x-run-id']}"
    assert caller.http.get(run).json()["status"] == "waiting_for_approval"
    caller.http.post(f"/approvals/{asked['id']}", json={"decision": "allow"})
    assert "event: done" in caller.http.get(f"{run}/events").text
    assert caller.http.get(run).json()["response"]["response"] == "All done."
    assert done == ["sales"]


def test_a_client_that_waits_for_too_long_is_told_where_its_run_is(served):
    """Design, section 17: 504 with the run, which stays pending."""
    done = []
    caller = served(_erasing_agent(done), approvals="wait", request_timeout=0.5)
    response = caller.chat()
    assert response.status_code == 504
    assert response.json()["error"] == "TimeoutError"
    run = f"/runs/{response.json()['run_id']}"
    body = caller.http.get(run).json()
    assert body["status"] == "waiting_for_approval"
    caller.http.post(
        f"/approvals/{body['approvals'][0]['id']}", json={"decision": "allow"}
    )
    assert "event: done" in caller.http.get(f"{run}/events").text
    assert done == ["sales"]


def test_waiting_for_a_person_is_not_counted_as_work(served):
    done = []
    caller = served(_erasing_agent(done), approvals="wait", request_timeout=0.5)
    with caller.streaming(conversation_id="c") as frames:
        asked = _asked(frames)
        # Whoever waits behind it is refused, so the time is over.
        assert caller.chat("Me too", conversation_id="c").status_code == 504
        caller.http.post(f"/approvals/{asked['id']}", json={"decision": "allow"})
        assert kinds(list(frames))[-1] == "done"


def test_a_question_that_nobody_answers_is_a_no(served):
    done = []
    agent = _erasing_agent(done, approval_timeout=0.1)
    frames = served(agent, approvals="wait").stream()
    results = [
        f.data["data"] for f in frames if f.data.get("type") == "approval_result"
    ]
    assert (results[0]["decision"], results[0]["by"]) == ("deny", "timeout")
    assert done == []


def test_the_notebook_sees_open_questions_and_may_answer_first(caller_of):
    done = []
    server = serve(_erasing_agent(done), approvals="wait")
    caller = caller_of(server)
    with caller.streaming() as frames:
        asked = _asked(frames)
        (pending,) = server.approvals
        assert pending.decide(Allow(), by="person")
        path = f"/approvals/{asked['id']}"
        assert caller.http.post(path, json={"decision": "deny"}).status_code == 409
        list(frames)
    assert done == ["sales"]
    assert server.approvals == []


class _Surface:
    """A surface of the agent's own, on which nobody is."""

    async def ask(self, pending) -> None:
        await pending.wait()


def test_a_surface_of_the_agents_own_does_not_keep_others_from_deciding(served):
    done = []
    agent = _erasing_agent(done, approver=_Surface())
    caller = served(agent, request_timeout=0.5)
    run_id = caller.chat().json()["run_id"]
    run = f"/runs/{run_id}"
    (asked,) = caller.http.get(run).json()["approvals"]
    path = f"/approvals/{asked['id']}"
    assert caller.http.post(path, json={"decision": "allow"}).status_code == 200
    assert "event: done" in caller.http.get(f"{run}/events").text
    assert done == ["sales"]
    assert caller.http.post(path, json={"decision": "allow"}).status_code == 409


def test_an_answer_in_place_of_the_tool_is_what_the_model_reads(served):
    done = []
    caller = served(_erasing_agent(done), approvals="wait")
    with caller.streaming() as frames:
        path = f"/approvals/{_asked(frames)['id']}"
        blank = caller.http.post(path, json={"decision": "respond", "reason": " "})
        assert blank.status_code == 422
        body = {"decision": "respond", "reason": "There are no such rows."}
        assert caller.http.post(path, json=body).status_code == 200
        rest = list(frames)
    assert done == []
    assert rest[1].data["data"]["content"] == "There are no such rows."


def test_always_for_the_same_call_asks_about_another_one(served):
    done = []
    script = [call("erase", table=t) for t in ("a", "a", "b")]
    agent = agent_of(*script, "Done.", tools=[erasing(done)])
    caller = served(agent, approvals="wait")
    with caller.streaming() as frames:
        body = {"decision": "always", "scope": "call"}
        caller.http.post(f"/approvals/{_asked(frames)['id']}", json=body)
        second = _asked(frames)
        caller.http.post(f"/approvals/{second['id']}", json={"decision": "deny"})
        list(frames)
    assert done == ["a", "a"]
    assert second["args"] == {"table": "b"}


def _team(done: list[str], *, depth: int = 1, **options) -> Agent:
    """Make a team whose innermost member has a tool that needs consent."""
    agent = _erasing_agent(done, **options)
    for level in range(depth):
        script = [call(agent.name, task="Tidy up"), "Tidied."]
        agent = agent_of(*script, tools=[agent.as_tool()], name=f"lead{level}")
    return agent


@pytest.mark.parametrize("depth", [1, 2])
def test_a_question_of_a_member_is_streamed_listed_and_answered(served, depth):
    done = []
    caller = served(_team(done, depth=depth), approvals="wait")
    with caller.streaming() as frames:
        asked = _asked(frames)
        assert (asked["agent"], asked["tool"]) == ("bot", "erase")
        assert asked["args"] == {"table": "sales"}
        run = f"/runs/{caller.last.headers['x-run-id']}"
        (listed,) = caller.http.get("/approvals").json()["approvals"]
        assert (listed["id"], listed["agent"]) == (asked["id"], "bot")
        assert run == f"/runs/{listed['run_id']}"
        body = caller.http.get(run).json()
        assert body["status"] == "waiting_for_approval"
        assert [each["id"] for each in body["approvals"]] == [asked["id"]]
        path = f"/approvals/{asked['id']}"
        body = {"decision": "allow", "args": {"table": "test"}}
        assert caller.http.post(path, json=body).status_code == 200
        rest = list(frames)
    assert done == ["test"]
    assert kinds(rest) == ["approval_result", "tool_result", "done"]
    told = rest[0].data["data"]
    assert (told["request_id"], told["decision"]) == (asked["id"], "allow")
    assert (told["args"], told["by"]) == ({"table": "test"}, "http")
    assert caller.http.post(path, json={"decision": "deny"}).status_code == 409
    assert caller.http.get("/approvals").json() == {"approvals": []}


def test_a_question_of_an_orchestrators_member_is_answered(served):
    done = []
    script = [call("delegate", agent_name="bot", task="Tidy up"), "Tidied."]
    team = Orchestrator(ScriptedProvider(script), {"bot": _erasing_agent(done)})
    caller = served(team, approvals="wait")
    with caller.streaming() as frames:
        path = f"/approvals/{_asked(frames)['id']}"
        caller.http.post(path, json={"decision": "allow"})
        assert list(frames)[-1].data["response"] == "Tidied."
    assert done == ["sales"]


def test_a_question_of_an_agent_that_a_tool_runs_in_its_thread_is_answered(served):
    done = []
    member = _erasing_agent(done)

    @tool
    def tidy() -> str:
        """Tidy up."""
        return str(member.run_sync("Tidy up"))

    agent = agent_of(call("tidy"), "Tidied.", tools=[tidy])
    caller = served(agent, approvals="wait", request_timeout=0.5)
    with caller.streaming(conversation_id="c") as frames:
        asked = _asked(frames)
        # Whoever waits behind it is refused, so the time is over.
        assert caller.chat("Me too", conversation_id="c").status_code == 504
        path = f"/approvals/{asked['id']}"
        assert caller.http.post(path, json={"decision": "allow"}).status_code == 200
        assert list(frames)[-1].data["response"] == "Tidied."
    assert done == ["sales"]


def test_a_surface_of_a_members_own_stops_the_clock_of_the_team(served):
    done = []
    member = _erasing_agent(done, approver=_Surface())

    @tool
    def tidy() -> str:
        """Tidy up, on a loop of its own."""
        return str(member.run_sync("Tidy up"))

    agent = agent_of(call("tidy"), "Tidied.", tools=[tidy])
    caller = served(agent, request_timeout=0.5)
    run = f"/runs/{caller.chat().json()['run_id']}"
    (asked,) = caller.http.get(run).json()["approvals"]
    path = f"/approvals/{asked['id']}"
    assert caller.http.post(path, json={"decision": "allow"}).status_code == 200
    assert "event: done" in caller.http.get(f"{run}/events").text
    assert done == ["sales"]


def test_waiting_for_an_answer_to_a_member_is_not_counted_as_work(served):
    done = []
    caller = served(_team(done), approvals="wait", request_timeout=0.5)
    response = caller.chat()
    assert response.status_code == 504
    run = f"/runs/{response.json()['run_id']}"
    body = caller.http.get(run).json()
    assert body["status"] == "waiting_for_approval"
    path = f"/approvals/{body['approvals'][0]['id']}"
    caller.http.post(path, json={"decision": "allow"})
    assert "event: done" in caller.http.get(f"{run}/events").text
    assert done == ["sales"]


def test_a_client_that_goes_away_leaves_a_team_alone_whose_member_waits(served):
    done = []
    caller = served(_team(done), approvals="wait")
    with caller.streaming() as frames:
        asked = _asked(frames)
        run = f"/runs/{caller.last.headers['x-run-id']}"
    assert caller.http.get(run).json()["status"] == "waiting_for_approval"
    with caller.http.stream("GET", f"{run}/events") as response:
        frames = read_frames(response.iter_lines())
        assert _asked(frames)["id"] == asked["id"]
        path = f"/approvals/{asked['id']}"
        caller.http.post(path, json={"decision": "allow"})
        assert kinds(list(frames)) == ["approval_result", "tool_result", "done"]
    again = read_frames(iter(caller.http.get(f"{run}/events").text.splitlines()))
    seen = list(again)
    assert kinds(seen) == [
        "tool_call",
        "approval_request",
        "approval_result",
        "tool_result",
        "done",
    ]
    ids = [int(frame.id) for frame in seen]
    assert ids == sorted(ids)
    assert done == ["sales"]


def test_somebody_else_neither_sees_nor_decides_what_a_member_asks(served):
    keys = {"key-of-ada": "ada", "key-of-bob": "bob"}
    owner = served(_team([]), approvals="wait", api_keys=keys)
    url = str(owner.http.base_url)
    ada, bob = Caller(url, "key-of-ada"), Caller(url, "key-of-bob")
    with ada.streaming() as frames:
        path = f"/approvals/{_asked(frames)['id']}"
        assert bob.http.get("/approvals").json() == {"approvals": []}
        assert bob.http.post(path, json={"decision": "allow"}).status_code == 404
        assert ada.http.post(path, json={"decision": "deny"}).status_code == 200
        list(frames)
    assert bob.http.post(path, json={"decision": "allow"}).status_code == 404
    assert ada.http.post(path, json={"decision": "allow"}).status_code == 409
    ada.http.close()
    bob.http.close()


def test_two_members_that_ask_at_once_are_answered_one_by_one(served):
    both = [call("bot", task="One"), call("bot", task="Two")]
    lead = agent_of(both, "Tidied.", tools=[_asking_agent().as_tool()], name="lead")
    caller = served(lead, approvals="wait", request_timeout=5)
    with caller.streaming() as frames:
        one, two = _asked(frames), _asked(frames)
        assert len(caller.http.get("/approvals").json()["approvals"]) == 2
        for each in (two, one):
            body = {"decision": "deny"}
            path = f"/approvals/{each['id']}"
            assert caller.http.post(path, json=body).status_code == 200
        rest = list(frames)
    assert kinds(rest).count("approval_result") == 2
    assert kinds(rest)[-1] == "done"


def test_a_question_of_a_member_that_nobody_answers_is_a_no(served):
    done = []
    caller = served(_team(done, approval_timeout=0.1), approvals="wait")
    frames = caller.stream()
    (result,) = [f.data for f in frames if f.data.get("type") == "approval_result"]
    assert (result["data"]["decision"], result["data"]["by"]) == ("deny", "timeout")
    assert kinds(frames)[-1] == "done"
    assert done == []


def test_stopping_the_run_ends_the_question_of_its_member(served):
    done = []
    caller = served(_team(done), approvals="wait")
    with caller.streaming() as frames:
        path = f"/approvals/{_asked(frames)['id']}"
        run = f"/runs/{caller.last.headers['x-run-id']}"
        assert caller.http.post(f"{run}/cancel").status_code == 202
        rest = list(frames)
    assert kinds(rest)[-1] == "error"
    assert rest[-1].data["error"] == "RunCancelledError"
    assert caller.http.get("/approvals").json() == {"approvals": []}
    assert caller.http.post(path, json={"decision": "allow"}).status_code == 409
    assert done == []


def test_always_for_a_tool_answers_no_question_of_a_member_about_one_of_its_name(
    served,
):
    mine, theirs = [], []
    member = _erasing_agent(theirs)
    script = [[call("erase", table="a"), call("bot", task="Tidy up")], "Tidied."]
    lead = agent_of(*script, tools=[erasing(mine), member.as_tool()], name="lead")
    caller = served(lead, approvals="wait")
    with caller.streaming() as frames:
        asked = {each["agent"]: each for each in (_asked(frames), _asked(frames))}
        own = f"/approvals/{asked['lead']['id']}"
        caller.http.post(own, json={"decision": "always"})
        assert _next_result(frames)["request_id"] == asked["lead"]["id"]
        (left,) = caller.http.get("/approvals").json()["approvals"]
        assert left["agent"] == "bot"
        caller.http.post(f"/approvals/{left['id']}", json={"decision": "deny"})
        list(frames)
    assert (mine, theirs) == (["a"], [])
