"""The schema of a whole tool, in the shape of OpenAI's function tools."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from notebook_agents.errors import AgentConfigurationError
from notebook_agents.tools.json_schema import (
    Schema,
    add_sentence,
    children,
    map_children,
    reference,
    tell_default,
)
from notebook_agents.tools.signature import VAR_KEYWORD, Parameter
from notebook_agents.tools.strict import find_obstacle, to_strict

if TYPE_CHECKING:
    from notebook_agents.tools.arguments import Arguments

__all__ = ["compose_description", "function_schema", "with_definitions"]


def compose_description(description: str, context: str | None) -> str:
    """Join a description and its context."""
    return f"{description}\n\nContext: {context}" if context else description


def function_schema(
    name: str,
    description: str,
    arguments: Arguments,
    *,
    texts: Mapping[str, str],
    strict: bool | None = None,
) -> tuple[Schema, str | None]:
    """Describe a tool to a model.

    Parameters
    ----------
    name, description : str
        As the model sees them.
    arguments : Arguments
        What the function takes.
    texts : mapping of str to str
        Descriptions of parameters, from the docstring.
    strict : bool, optional
        Whether to use the strict form; by default, wherever that is possible.

    Returns
    -------
    tuple of (dict, str or None)
        The function-tool object, and why it is not strict if it is not.

    Raises
    ------
    AgentConfigurationError
        If the strict form was asked for and would lose meaning.
    """
    parameters = _parameters_schema(arguments, texts)
    relaxed = "strict=False was asked for" if strict is False else None
    relaxed = relaxed or find_obstacle(parameters)
    if strict and relaxed:
        message = f"The tool {name!r} has no strict form, because {relaxed}."
        raise AgentConfigurationError(message)
    function = {
        "name": name,
        "description": description,
        "strict": relaxed is None,
        "parameters": parameters if relaxed else to_strict(parameters),
    }
    return {"type": "function", "function": function}, relaxed


def _parameters_schema(arguments: Arguments, texts: Mapping[str, str]) -> Schema:
    properties: Schema = {}
    others: bool | Schema = False
    for parameter in arguments.parameters:
        schema = arguments.schemas[parameter.name]
        if parameter.kind is VAR_KEYWORD:
            others = schema or True
            continue
        text = _text(parameter, schema, texts, arguments.definitions)
        described = {**schema, "description": text} if text else schema
        properties[parameter.name] = tell_default(described)
    whole: Schema = {
        "type": "object",
        "properties": properties,
        "required": [p.name for p in arguments.parameters if not p.is_optional],
        "additionalProperties": others,
    }
    return with_definitions(whole, arguments.definitions)


def _text(
    parameter: Parameter,
    schema: Schema,
    texts: Mapping[str, str],
    definitions: Mapping[str, Schema],
) -> str | None:
    """Describe a parameter; the words next to its type are nearest to the truth."""
    name = parameter.name
    own = schema.get("description")
    text = parameter.note or (own if own != parameter.hint else "") or texts.get(name)
    if parameter.hint:
        described = add_sentence({"description": text or ""}, parameter.hint)
        return str(described["description"])
    refers_to = definitions.get(reference(schema) or "", {})
    if text or refers_to.get("description"):
        # A class that tells what it is needs no words here.
        return text
    return f"Parameter: {name}"


def with_definitions(schema: Schema, definitions: Mapping[str, Schema]) -> Schema:
    """Add the definitions that are used, and leave no words beside a reference."""
    settled = _settle(schema, definitions)
    used: dict[str, Schema] = {}
    open_names = _references(settled)
    while open_names:
        name = open_names.pop()
        if name not in used:
            used[name] = _settle(definitions[name], definitions)
            open_names |= _references(used[name])
    if used:
        settled["$defs"] = {name: used[name] for name in definitions if name in used}
    return settled


def _settle(schema: Schema, definitions: Mapping[str, Schema]) -> Schema:
    """Put a definition in place of a reference that has words beside it."""
    # Services refuse such words; a definition that refers to itself has to stay.
    name = reference(schema)
    if name is None or len(schema) == 1:
        return map_children(schema, lambda child: _settle(child, definitions))
    beside = {key: value for key, value in schema.items() if key != "$ref"}
    if _is_recursive(name, definitions):
        return {"anyOf": [{"$ref": schema["$ref"]}], **beside}
    whole = {**beside, **definitions[name]}
    if "description" in beside:
        # Both are told: what the class is, then what this one is for.
        whole = add_sentence(whole, beside["description"])
    return _settle(whole, definitions)


def _is_recursive(name: str, definitions: Mapping[str, Schema]) -> bool:
    seen: set[str] = set()
    open_names = _references(definitions[name])
    while open_names:
        other = open_names.pop()
        if other == name:
            return True
        if other not in seen:
            seen.add(other)
            open_names |= _references(definitions[other])
    return False


def _references(schema: Schema) -> set[str]:
    name = reference(schema)
    found = set() if name is None else {name}
    for _, child in children(schema):
        found |= _references(child)
    return found
