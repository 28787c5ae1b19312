import httpx

from notebook_agents import LLMClient


def reply(request):
    """Stand for the service."""
    if request.url.path.endswith("/embeddings"):
        return httpx.Response(200, json={"data": [{"index": 0, "embedding": [0.5]}]})
    message = {"role": "assistant", "content": "Hello!"}
    return httpx.Response(200, json={"choices": [{"index": 0, "message": message}]})


service = httpx.AsyncClient(transport=httpx.MockTransport(reply))
async with LLMClient(
    "https://llm.example/v1", "your-key", "your-model", http_client=service
) as client:
    asked = [{"role": "user", "content": "Say hello."}]
    answer = await client.chat_completions(asked, max_tokens=20)
    assert answer["choices"][0]["message"]["content"] == "Hello!"
    assert await client.embeddings(["one text"]) == [[0.5]]
