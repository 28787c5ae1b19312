"""The body of a request for Gemini's generateContent."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from notebook_agents.providers._gemini_contents import (
    ContentPart,
    KeptParts,
    contents_of,
    texts_first,
)
from notebook_agents.providers._gemini_schema import json_form, openapi_form
from notebook_agents.providers._json_values import mapping
from notebook_agents.providers._parts import system_text
from notebook_agents.providers.base import ModelRequest
from notebook_agents.providers.gemini_profile import GeminiProfile

__all__ = ["Continuation", "Written", "written"]

_TAKEN = ("reasoning_effort", "seed", "stop", "tool_choice", "top_p")
"""Keys of ``tool_calling`` that mean something here; ``params`` win."""
_OTHERWISE = {"stop": "stopSequences", "n": "candidateCount"}
"""Names of parameters that this wire has another word for."""
_TOP = frozenset(
    {"cachedContent", "labels", "safetySettings", "serviceTier", "store", "toolConfig"}
)
"""Parameters that do not belong to the ``generationConfig``."""
_OURS = frozenset(
    {"contents", "messages", "model", "stream", "system", "systemInstruction", "tools"}
)
"""What no parameter takes the place of."""
_OF_ARGUMENTS = frozenset({"$ref", "additionalProperties", "anyOf", "properties"})
"""Keywords of a schema by which a function takes arguments."""
_SAMPLING = ("temperature", "topP", "topK")
_MODES = {
    "any": "ANY",
    "auto": "AUTO",
    "none": "NONE",
    "required": "ANY",
    "validated": "VALIDATED",
}
_LEVELS = {"low": "LOW", "medium": "MEDIUM", "high": "HIGH"}
_BUDGETS = {"minimal": 512, "low": 1024, "medium": 8192, "high": 24_576}
CORRECTION = (
    "Your last reply could not be read. Write it again. If it calls a function, call "
    "only one that you were given, with arguments that are valid JSON."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Continuation(ModelRequest):
    """A request that is sent again because its reply was not complete.

    Parameters
    ----------
    token : str
        With which the service goes on where it stopped.
    corrects : bool
        Whether the model is asked to write its reply again.
    said : tuple of mapping
        The parts of the reply that it is to write again.
    """

    token: str = ""
    corrects: bool = False
    said: tuple[ContentPart, ...] = ()


@dataclass(frozen=True, slots=True)
class Written:
    """A request in the shape of the wire.

    Parameters
    ----------
    body : dict
        JSON values.
    dropped : tuple of str
        What was asked for and the model does not take.
    """

    body: dict[str, Any]
    dropped: tuple[str, ...]


def written(
    request: ModelRequest,
    *,
    profile: GeminiProfile,
    extra: Mapping[str, Any],
    without: Collection[str] = (),
    most_tokens: int | None = None,
    kept: Mapping[str, KeptParts] | None = None,
) -> Written:
    """Write a request as Gemini wants it.

    Parameters
    ----------
    request : ModelRequest
        What to ask.
    profile : GeminiProfile
        What the model takes.
    extra : mapping
        More keys for the body; they win, but ``tools`` are added to the others
        and objects are merged.
    without : collection of str
        What the service has refused.
    most_tokens : int, optional
        The most it lets the model write, if it has said so.
    kept : mapping, optional
        Parts of replies, by the identifier of their first call.

    Returns
    -------
    Written
        The body, and what is not in it.
    """
    asked = _Asked(request)
    config = _generation(asked, request, profile, without)
    if most_tokens is not None:
        config["maxOutputTokens"] = min(config["maxOutputTokens"], most_tokens)
    contents = contents_of(
        request.messages,
        kept or {},
        needs_signatures=profile.needs_signatures,
        sends_ids="id" not in without,
    )
    system = system_text(request.messages)
    if system and "systemInstruction" in without:
        contents, system = texts_first(contents, system), ""
    body: dict[str, Any] = {
        "contents": contents,
        "systemInstruction": {"parts": [{"text": system}]} if system else None,
        **_tools(request, asked, is_json_schema=_takes_json_schema(profile, without)),
        "generationConfig": config,
    }
    if isinstance(request, Continuation):
        _go_on(body, request)
    body = {name: value for name, value in body.items() if value}
    top = {name: value for name, value in asked.top.items() if name not in without}
    return Written(_with(_with(body, top), extra), tuple(asked.dropped))


class _Asked(dict[str, Any]):
    """The parameters of a request, as long as nobody has taken them."""

    def __init__(self, request: ModelRequest) -> None:
        calling = request.tool_calling
        given = {name: calling[name] for name in _TAKEN if name in calling}
        given |= {"temperature": request.temperature, **request.params}
        self.choice = given.pop("tool_choice", None)
        self.dropped: list[str] = []
        super().__init__()
        for name, value in given.items():
            fit = _OTHERWISE.get(name) or _camel(name)
            if value is not None and fit not in _OURS:
                self[fit] = value
        limits = (self.pop("maxTokens", None), self.pop("maxCompletionTokens", None))
        self.limit: int = next(filter(None, limits), request.max_tokens)
        self.pop("parallelToolCalls", None)
        self.top = {name: self.pop(name) for name in _TOP if name in self}

    def drop(self, *names: str) -> None:
        """Leave out what the model does not take."""
        self.dropped += [name for name in names if self.pop(name, None) is not None]


def _generation(
    asked: _Asked,
    request: ModelRequest,
    profile: GeminiProfile,
    without: Collection[str],
) -> dict[str, Any]:
    thinking = _thinking(asked, profile, without)
    if isinstance(stop := asked.get("stopSequences"), str):
        asked["stopSequences"] = [stop]
    if not profile.sends_sampling:
        asked.drop(*_SAMPLING)
    config: dict[str, Any] = {
        "maxOutputTokens": asked.limit + _room(thinking, profile),
        "thinkingConfig": thinking or None,
    }
    if request.output is not None and not request.output.tool:
        config |= _shape(request.output.schema, profile, without)
    config |= asked
    return {
        name: value
        for name, value in config.items()
        if value is not None and name not in without
    }


def _shape(
    schema: Mapping[str, Any], profile: GeminiProfile, without: Collection[str]
) -> dict[str, Any]:
    config: dict[str, Any] = {"responseMimeType": "application/json"}
    if _takes_json_schema(profile, without):
        return {**config, "responseJsonSchema": json_form(schema)}
    return {**config, "responseSchema": openapi_form(schema)}


def _takes_json_schema(profile: GeminiProfile, without: Collection[str]) -> bool:
    return profile.json_schemas and "JSON Schema" not in without


# ---------------------------------------------------------------------- thinking


def _thinking(
    asked: _Asked, profile: GeminiProfile, without: Collection[str]
) -> dict[str, Any]:
    """Say how to think; empty where nothing is to be said about it."""
    given = asked.pop("thinkingConfig", None) or {}
    given = {_camel(name): value for name, value in given.items()}
    for name in ("thinkingBudget", "thinkingLevel", "includeThoughts"):
        if name in asked:
            given[name] = asked.pop(name)
    if profile.thinks_by is None:
        asked.drop("reasoningEffort")
    effort = asked.pop("reasoningEffort", None)
    config: dict[str, Any] = {"includeThoughts": True} if profile.thinks_by else {}
    if effort is not None and not given.keys() & {"thinkingBudget", "thinkingLevel"}:
        config |= _effort(str(effort), profile)
    config |= given
    return {name: value for name, value in config.items() if name not in without}


def _effort(effort: str, profile: GeminiProfile) -> dict[str, Any]:
    """Tell an effort that other services know in the words of this one."""
    if profile.thinks_by == "level":
        least = profile.least_level if effort in {"none", "minimal"} else "HIGH"
        return {"thinkingLevel": _LEVELS.get(effort, least)}
    budget = 0 if effort == "none" else _BUDGETS.get(effort, _BUDGETS["high"])
    return {"thinkingBudget": max(budget, profile.least_budget)}


def _room(thinking: Mapping[str, Any], profile: GeminiProfile) -> int:
    """Give the tokens that thoughts may take, beside the answer."""
    budget = thinking.get("thinkingBudget")
    if isinstance(budget, int) and budget >= 0:
        return budget
    thinks = profile.thinks_by is not None or budget is not None
    return profile.thinking_tokens if thinks or "thinkingLevel" in thinking else 0


# ------------------------------------------------------------------------- tools


def _tools(
    request: ModelRequest, asked: _Asked, *, is_json_schema: bool
) -> dict[str, Any]:
    """Give all functions as one tool, and how to choose among them."""
    functions = [tool["function"] for tool in request.tools if "function" in tool]
    # Others are run by the service itself.
    tools = [dict(tool) for tool in request.tools if "function" not in tool]
    if not functions:
        return {"tools": tools}
    form = json_form if is_json_schema else openapi_form
    key = "parametersJsonSchema" if is_json_schema else "parameters"
    declared = []
    for function in functions:
        told = {"name": function["name"], "description": function.get("description")}
        schema = form(mapping(function.get("parameters")))
        holds = {name for name, value in schema.items() if value}
        if holds & _OF_ARGUMENTS:  # an object without any is refused
            told[key] = schema
        declared.append({name: value for name, value in told.items() if value})
    choice = _choice(request, asked.choice)
    return {
        "tools": [{"functionDeclarations": declared}, *tools],
        "toolConfig": {"functionCallingConfig": choice},
    }


def _choice(request: ModelRequest, given: object) -> dict[str, Any]:
    """Give the choice of tools; a bare name is that tool."""
    calling = request.tool_calling
    names = calling.get("allowed_function_names")
    if given is None:
        given = calling.get("mode") or "auto"
        if str(given).upper() == "ANY" and _has_called(request):
            given = "auto"  # forced again, it would never end
    elif isinstance(given, Mapping):
        function = given.get("function")
        name = function.get("name") if isinstance(function, Mapping) else None
        given = name or given.get("name") or given.get("type") or "auto"
    word = str(given)
    mode = _MODES.get(word.lower())
    if mode is None:
        return {"mode": "ANY", "allowedFunctionNames": [word]}
    if names and mode in {"ANY", "VALIDATED"}:
        return {"mode": mode, "allowedFunctionNames": list(names)}
    return {"mode": mode}


def _has_called(request: ModelRequest) -> bool:
    """Tell whether the model has called a tool in this turn."""
    for message in reversed(request.messages):
        if message.role == "user":
            return False
        if message.tool_calls:
            return True
    return False


# ------------------------------------------------------------------------ the rest


def _go_on(body: dict[str, Any], request: Continuation) -> None:
    """Ask for the rest of a reply, or once more for one that could not be read."""
    if request.corrects:
        said = [{"role": "model", "parts": list(request.said)}] if request.said else []
        correction = {"role": "user", "parts": [{"text": CORRECTION}]}
        body["contents"] = [*body["contents"], *said, correction]
    if request.token:
        body["continuationToken"] = request.token


def _with(body: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """Add keys to a body; tools stand beside each other, objects are merged."""
    whole = dict(body)
    for given, value in more.items():
        name = _camel(given)
        known = whole.get(name)
        if name == "tools":
            whole[name] = [*(known or ()), *value]
        elif isinstance(known, Mapping) and isinstance(value, Mapping):
            whole[name] = {**known, **value}
        else:
            whole[name] = value
    return whole


def _camel(name: str) -> str:
    """Spell a name as the wire does: ``top_k`` is ``topK``."""
    return _UNDERSCORE.sub(lambda found: found[1].upper(), name)


_UNDERSCORE = re.compile(r"_([a-z0-9])")
