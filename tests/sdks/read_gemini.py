"""Ask with Google's own SDK."""

from __future__ import annotations

from typing import Any

from google import genai
from google.genai import errors, types
from reading import Seen, run


def ask(url: str, scenario: dict[str, Any]) -> Seen:
    """Ask once."""
    options = types.HttpOptions(base_url=url.removesuffix("/v1"), timeout=20_000)
    client = genai.Client(api_key="test-key", http_options=options)
    asked: Any = {"model": "m", "contents": "Hi"}
    try:
        if scenario["is_streamed"]:
            chunks = list(client.models.generate_content_stream(**asked))
        else:
            chunks = [client.models.generate_content(**asked)]
    except errors.APIError as error:
        return Seen(status=error.code)
    finally:
        client.close()
    return seen_in(chunks)


def seen_in(chunks: list[types.GenerateContentResponse]) -> Seen:
    """Tell what a reply says."""
    seen = Seen()
    for chunk in chunks:
        for candidate in (chunk.candidates or [])[:1]:
            content = candidate.content
            for part in (content.parts if content else None) or []:
                if part.text and not part.thought:
                    seen.text += part.text
                if call := part.function_call:
                    seen.calls.append((call.name, call.args or {}))
    return seen


if __name__ == "__main__":
    run(ask)
