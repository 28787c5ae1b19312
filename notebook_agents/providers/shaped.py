"""Asking any provider for an answer of a given shape.

Whatever the way, the reply is the same: its text is the JSON, and a tool that only
carries the answer is never seen.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from dataclasses import replace

from notebook_agents.messages import Message
from notebook_agents.providers.base import (
    BaseProvider,
    Delta,
    ModelReply,
    ModelRequest,
    TextDelta,
    deltas_of,
    is_void,
)
from notebook_agents.providers.output_format import OutputFormat

__all__ = ["in_words", "shaped_deltas"]

OUTPUT_TOOL = "final_answer"


def shaped_deltas(
    provider: BaseProvider, request: ModelRequest
) -> AsyncGenerator[Delta, None]:
    """Ask for an answer in the shape that a request names, if it names one.

    Parameters
    ----------
    provider : BaseProvider
        Ours or somebody else's.
    request : ModelRequest
        What to ask.

    Returns
    -------
    async generator of Delta
        A `ModelReply` last.
    """
    output = request.output
    if output is None:
        return deltas_of(provider, request)
    mode = provider.output_mode(has_tools=bool(request.tools))
    if mode == "native":
        return deltas_of(provider, request)
    if mode == "tool" and request.tool_calling.get("tool_choice") != "none":
        return _by_tool(provider, request, output)
    return deltas_of(provider, in_words(request, output))


def in_words(request: ModelRequest, output: OutputFormat) -> ModelRequest:
    """Tell the shape in the system message, for a service that cannot enforce it.

    Parameters
    ----------
    request : ModelRequest
        What to ask.
    output : OutputFormat
        The shape.

    Returns
    -------
    ModelRequest
        One that any service takes.
    """
    schema = json.dumps(output.schema, ensure_ascii=False)
    told = (
        "Your answer must be JSON alone, with no other words before or after it. "
        f"It must fit this JSON schema:\n{schema}"
    )
    messages = list(request.messages)
    if messages and messages[0].role == "system":
        messages[0] = Message("system", f"{messages[0].content}\n\n{told}")
    else:
        messages.insert(0, Message("system", told))
    return replace(request, messages=messages, output=None)


async def _by_tool(
    provider: BaseProvider, request: ModelRequest, output: OutputFormat
) -> AsyncGenerator[Delta, None]:
    """Offer one more tool, whose arguments are the answer."""
    name = _free_name(request)
    function = {
        "name": name,
        "description": "Give the final answer, once you have all you need for it.",
        "strict": output.strict,
        "parameters": output.schema,
    }
    asked = replace(
        request,
        tools=[*request.tools, {"type": "function", "function": function}],
        tool_calling={"tool_choice": "required", **request.tool_calling},
        output=replace(output, tool=name),
    )
    texts: list[str] = []
    deltas = deltas_of(provider, asked)
    try:
        async for delta in deltas:
            if isinstance(delta, ModelReply):
                reply = _folded(delta, name)
                if reply.text.strip() not in "".join(texts):
                    yield TextDelta(reply.text)
                yield reply
                return
            if isinstance(delta, TextDelta):
                texts.append(delta.text)
            elif is_void(delta):
                texts.clear()
            yield delta
    finally:
        await deltas.aclose()


def _free_name(request: ModelRequest) -> str:
    taken = {tool["function"]["name"] for tool in request.tools}
    name = OUTPUT_TOOL
    while name in taken:
        name += "_"
    return name


def _folded(reply: ModelReply, name: str) -> ModelReply:
    """Give a reply whose text is the answer that a call carries."""
    # Where the model asked for other tools as well, it has answered before it saw
    # what they say: they run, and it is asked again.
    answers = [call.arguments for call in reply.tool_calls if call.name == name]
    if not answers:
        return reply
    others = tuple(call for call in reply.tool_calls if call.name != name)
    is_over = not others and reply.stop_reason == "tool_calls"
    return replace(
        reply,
        text=answers[0],
        tool_calls=others,
        stop_reason="stop" if is_over else reply.stop_reason,
    )
