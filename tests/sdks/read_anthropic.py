"""Ask with Anthropic's own SDK."""

from __future__ import annotations

from typing import Any

import anthropic
from reading import Seen, run


def ask(url: str, scenario: dict[str, Any]) -> Seen:
    """Ask once."""
    client = anthropic.Anthropic(
        api_key="sk-ant-test",
        base_url=url.removesuffix("/v1"),
        max_retries=0,
        timeout=20,
        _strict_response_validation=scenario["is_strict"],
    )
    asked: Any = {
        "model": "m",
        "max_tokens": 99,
        "messages": [{"role": "user", "content": "Hi"}],
    }
    try:
        with client:
            if not scenario["is_streamed"]:
                return seen_in(client.messages.create(**asked))
            with client.messages.stream(**asked) as stream:
                return seen_in(stream.get_final_message())
    except anthropic.APIStatusError as error:
        return Seen(status=error.status_code)


def seen_in(message: anthropic.types.Message) -> Seen:
    """Tell what a message says."""
    seen = Seen()
    for block in message.content:
        if block.type == "text":
            seen.text += block.text
        elif block.type == "tool_use":
            seen.calls.append((block.name, block.input))
    return seen


if __name__ == "__main__":
    run(ask)
