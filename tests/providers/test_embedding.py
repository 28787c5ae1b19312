"""Texts become vectors, whichever service is asked."""

from __future__ import annotations

import pytest

from notebook_agents import LLMClient
from notebook_agents.errors import (
    AgentConfigurationError,
    AgentProviderError,
    ProviderRateLimitError,
    ProviderReplyError,
)
from notebook_agents.providers import (
    Embedder,
    GeminiProvider,
    OllamaProvider,
    OpenAICompatibleProvider,
    OpenAIProvider,
)
from notebook_agents.providers.registry import make_provider
from tests.providers.gemini_wire import failed, quota
from tests.providers.wire import CUT, HOLD, whole

KEY = "a-very-secret-key-0123456789"


def gemini(server, **options) -> GeminiProvider:
    return GeminiProvider(api_key=KEY, base_url=server.url, **options)


def openai(server, **options) -> OpenAIProvider:
    return OpenAIProvider(api_key=KEY, base_url=server.url, **options)


def of_gemini(*rows: list) -> dict:
    return {"embeddings": [{"values": row} for row in rows]}


def of_openai(*rows: list) -> dict:
    return {"data": [{"index": n, "embedding": row} for n, row in enumerate(rows)]}


BOTH = pytest.mark.parametrize(
    ("make", "reply_of"), [(gemini, of_gemini), (openai, of_openai)]
)


# ------------------------------------------------------------------------ on the wire


async def test_gemini_is_asked_for_each_text(server):
    """Wire, section 5: two texts in one request would be one vector."""
    server.say(whole(200, of_gemini([1, 2], [3, 4])))
    vectors = await gemini(server).embed(["a", "b"], dimensions=2)
    assert vectors == [[1.0, 2.0], [3.0, 4.0]]
    [request] = server.requests
    assert request.path == "/v1/models/gemini-embedding-2:batchEmbedContents"
    assert request.headers["x-goog-api-key"] == KEY
    assert request.body == {
        "requests": [
            {
                "model": "models/gemini-embedding-2",
                "content": {"parts": [{"text": text}]},
                "outputDimensionality": 2,
            }
            for text in ("a", "b")
        ]
    }


@pytest.mark.parametrize(
    ("model", "purpose", "kind", "text"),
    [
        (None, None, None, "a"),
        (None, "document", None, "title: none | text: a"),
        (None, "query", None, "task: search result | query: a"),
        ("models/gemini-embedding-001", None, None, "a"),
        ("gemini-embedding-001", "document", "RETRIEVAL_DOCUMENT", "a"),
        ("gemini-embedding-001", "query", "RETRIEVAL_QUERY", "a"),
        ("text-embedding-004", "query", "RETRIEVAL_QUERY", "a"),
    ],
)
async def test_gemini_is_told_what_a_text_is(server, model, purpose, kind, text):
    """The first models take a type, later ones words in the text."""
    server.say(whole(200, of_gemini([1.0])))
    await gemini(server).embed(["a"], model=model, purpose=purpose)
    [asked] = server.requests[0].body["requests"]
    assert asked.get("taskType") == kind
    assert asked["content"] == {"parts": [{"text": text}]}


async def test_openai_is_asked_for_a_batch(server):
    """Wire, section 5."""
    rows = [{"index": 1, "embedding": [3, 4]}, {"index": 0, "embedding": [1, 2]}]
    server.say(whole(200, {"data": rows}))
    vectors = await openai(server).embed(["a", "b"], purpose="query", dimensions=2)
    assert vectors == [[1.0, 2.0], [3.0, 4.0]]
    [request] = server.requests
    assert request.path == "/v1/embeddings"
    assert request.body == {
        "model": "text-embedding-3-small",
        "input": ["a", "b"],
        "dimensions": 2,
    }


@BOTH
async def test_many_texts_are_sent_in_batches(server, make, reply_of):
    texts = [f"text {number}" for number in range(130)]
    sizes = (100, 30) if make is gemini else (64, 64, 2)
    for size in sizes:
        server.say(whole(200, reply_of(*[[float(n)] for n in range(size)])))
    assert len(await make(server).embed(texts)) == 130
    sent = [request.body for request in server.requests]
    assert [len(body.get("requests") or body["input"]) for body in sent] == [*sizes]


@BOTH
async def test_nothing_is_sent_for_no_texts(server, make, reply_of):
    assert await make(server).embed([]) == []
    assert server.connections == 0


# --------------------------------------------------------------------- what goes wrong


@BOTH
@pytest.mark.parametrize(
    "trouble",
    [
        whole(503, {"error": {"message": "busy"}}),
        failed(429, "RESOURCE_EXHAUSTED", "no", *quota("APerMinute", delay="0s")),
        [CUT],
        whole(200, {"error": {"code": 503, "message": "overloaded"}}),
    ],
    ids=["503", "429", "cut", "in the reply"],
)
async def test_what_may_pass_is_tried_again(server, make, reply_of, trouble):
    server.say(trouble, whole(200, reply_of([1.0])))
    assert await make(server).embed(["a"]) == [[1.0]]
    server.say(trouble)
    with pytest.raises(AgentProviderError):
        await make(server, max_retries=0).embed(["a"])


@BOTH
@pytest.mark.parametrize(
    "reply", [{}, [], {"data": None, "embeddings": None}, b"<p>Sign in</p>"]
)
async def test_vectors_that_are_missing_are_an_error(server, make, reply_of, reply):
    server.say(whole(200, reply))
    with pytest.raises(ProviderReplyError):
        await make(server).embed(["a", "b"])
    assert len(server.requests) == 1


@BOTH
@pytest.mark.parametrize("rows", [[], [[1.0]], [[1.0], ["x"]], [[1.0], 3]])
async def test_vectors_of_the_wrong_shape_are_an_error(server, make, reply_of, rows):
    server.say(whole(200, reply_of(*rows)))
    with pytest.raises(ProviderReplyError):
        await make(server).embed(["a", "b"])


@BOTH
async def test_a_service_that_stalls_is_given_up(server, make, reply_of):
    server.say([HOLD])
    with pytest.raises(AgentProviderError, match="stopped sending"):
        await make(server, max_retries=0, stall_timeout=0.05).embed(["a"])


@BOTH
@pytest.mark.parametrize("texts", ["abc", ["a", None], [b"a"]])
async def test_one_text_is_no_list(server, make, reply_of, texts):
    with pytest.raises(AgentConfigurationError, match="list of texts"):
        await make(server).embed(texts)


async def test_an_error_does_not_show_the_key(server):
    server.say(failed(429, "X", f"no {KEY}", *quota("APerDay")))
    with pytest.raises(ProviderRateLimitError) as caught:
        await gemini(server, max_retries=0).embed(["a"])
    assert KEY not in str(caught.value)


async def test_a_missing_key_is_named_before_anything_is_sent(server):
    with pytest.raises(AgentConfigurationError, match="GEMINI_API_KEY"):
        await GeminiProvider(base_url=server.url).embed(["a"])
    assert server.connections == 0


# ------------------------------------------------------------------ which model embeds


async def test_a_model_that_embeds_has_to_be_named_where_none_is_known(server):
    server.say(whole(200, of_openai([1.0])))
    ollama = OllamaProvider("llama3.2", base_url=server.url)
    with pytest.raises(AgentConfigurationError, match="model="):
        await ollama.embed(["a"])
    await ollama.embed(["a"], model="nomic-embed-text")
    assert server.requests[0].body["model"] == "nomic-embed-text"


async def test_the_environment_may_name_it(server, monkeypatch):
    monkeypatch.setenv("LLM_BASE_URL", server.url)
    monkeypatch.setenv("EMBED_MODEL", "e")
    server.say(whole(200, of_openai([1.0])))
    await make_provider("openai-compatible:m").embed(["a"])
    assert server.requests[0].body["model"] == "e"


async def test_a_client_embeds_with_its_own(server):
    server.say(*[whole(200, of_openai([1.0]))] * 2)
    await LLMClient(server.url, KEY, "m", embed_model="e").embed(["a"])
    await LLMClient(server.url, KEY, "m").embed(["a"])
    assert [request.body["model"] for request in server.requests] == ["e", "m"]


async def test_any_of_them_can_be_asked_in_the_same_way(server):
    compatible = OpenAICompatibleProvider(server.url, api_key=KEY)
    compatible.embed_model = "e"
    embedders: list[Embedder] = [gemini(server), openai(server), compatible]
    server.say(whole(200, of_gemini([1.0])), *[whole(200, of_openai([1.0]))] * 2)
    for embedder in embedders:
        assert await embedder.embed(["a"], purpose="document") == [[1.0]]
