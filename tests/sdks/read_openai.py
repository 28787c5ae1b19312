"""Ask with OpenAI's own SDK, by both of its endpoints."""

from __future__ import annotations

import json
from typing import Any

import openai
from reading import Seen, run

MESSAGES: Any = [{"role": "user", "content": "Hi"}]


def ask(url: str, scenario: dict[str, Any]) -> Seen:
    """Ask once."""
    client = openai.OpenAI(
        api_key="sk-test",
        base_url=url,
        max_retries=0,
        timeout=20,
        _strict_response_validation=scenario["is_strict"],
    )
    read = chat if scenario["name"].startswith("chat/") else responses
    try:
        with client:
            return read(client, stream=scenario["is_streamed"])
    except openai.APIStatusError as error:
        return Seen(status=error.status_code)


def chat(client: openai.OpenAI, *, stream: bool) -> Seen:
    """Ask for a chat completion."""
    given: Any = client.chat.completions.create(
        model="m", messages=MESSAGES, stream=stream
    )
    seen = Seen()
    names: dict[int, str] = {}
    arguments: dict[int, str] = {}
    for chunk in given if stream else [given]:
        for choice in chunk.choices:
            said = choice.delta if stream else choice.message
            seen.text += (said.content or "") + (said.refusal or "")
            for place, call in enumerate(said.tool_calls or []):
                index = call.index if stream else place
                names[index] = names.get(index, "") + (call.function.name or "")
                told = call.function.arguments or ""
                arguments[index] = arguments.get(index, "") + told
    seen.calls = [(names[each], parsed(arguments[each])) for each in names]
    return seen


def responses(client: openai.OpenAI, *, stream: bool) -> Seen:
    """Ask for a response."""
    given: Any = client.responses.create(model="m", input="Hi", stream=stream)
    seen, last = Seen(), None if stream else given
    for event in given if stream else []:
        if event.type in {"response.output_text.delta", "response.refusal.delta"}:
            seen.text += event.delta
        if event.type in {
            "response.completed",
            "response.incomplete",
            "response.failed",
        }:
            last = event.response
    for item in last.output:
        if item.type == "function_call":
            seen.calls.append((item.name, parsed(item.arguments)))
        elif item.type == "message" and not stream:
            for part in item.content:
                seen.text += part.text if part.type == "output_text" else part.refusal
    return seen


def parsed(arguments: str) -> Any:
    """Read arguments; None if they were cut."""
    try:
        return json.loads(arguments or "{}")
    except ValueError:
        return None


if __name__ == "__main__":
    run(ask)
