"""Arguments as a person edits them: one field each, and back to JSON values.

All of a field is text, so nothing is lost on the way to the browser and back: a
long number keeps its digits. Only fields that were changed are read again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from notebook_agents.errors import ToolArgumentsError
from notebook_agents.jupyter.json_text import read_json

__all__ = ["changed_args", "fields_of", "shown"]

_LONG = 60  # characters, from which on a text gets several lines
_NUMBERS = {"integer", "number"}

Field = dict[str, Any]


def fields_of(schema: Mapping[str, Any], args: Mapping[str, Any]) -> list[Field]:
    """Lay out the form of a call.

    Parameters
    ----------
    schema : mapping
        JSON Schema of the arguments.
    args : mapping
        The arguments, as JSON values.

    Returns
    -------
    list of dict
        A field for each argument there is or may be: ``name``, ``kind``
        (``check``, ``choice``, ``number``, ``line``, ``lines`` or ``json``),
        ``text``, ``options``, ``hint``, and whether it ``has`` a value.
    """
    known: Mapping[str, Any] = schema.get("properties") or {}
    names = [*args, *(name for name in known if name not in args)]
    return [_field(name, _part(schema, known.get(name)), args) for name in names]


def changed_args(
    fields: Sequence[Field], args: Mapping[str, Any], changes: object
) -> dict[str, Any]:
    """Read what a person wrote.

    Parameters
    ----------
    fields : sequence of dict
        The form, as `fields_of` made it.
    args : mapping
        The arguments before.
    changes : object
        What came back: text by name, for the fields that were changed.

    Returns
    -------
    dict of str to object
        All the arguments; an emptied field that is no text has none.

    Raises
    ------
    ToolArgumentsError
        If a text is no value of its kind, in words for the person.
    """
    kinds = {field["name"]: field for field in fields}
    changed = dict(args)
    for name, text in (changes if isinstance(changes, dict) else {}).items():
        if name not in kinds or not isinstance(text, str):
            message = f"{name!r} is no field of this form."
            raise ToolArgumentsError(message)
        kind = kinds[name]["kind"]
        if kind in {"line", "lines"}:
            changed[name] = text
        elif text.strip():
            changed[name] = _value(name, kind, text)
        else:
            changed.pop(name, None)
    return changed


def shown(value: Any) -> str:
    """Write a value as a person reads it: text as it is, all else as JSON."""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, indent=2, default=str)


def _field(name: str, part: Mapping[str, Any], args: Mapping[str, Any]) -> Field:
    has = name in args
    value = args.get(name)
    kind = _kind(part, value, has=has)
    text = _json(value) if kind == "choice" else shown(value)
    # The words that stand in for a missing description say nothing to a person.
    hint = str(part.get("description", ""))
    hint = hint.removeprefix(f"Parameter: {name}").lstrip(". ")
    if "default" in part:
        hint = f"default: {_json(part['default'])}"
    options = _options(part, value) if kind == "choice" else ()
    return {
        "name": name,
        "kind": kind,
        "text": text if has else "",
        "has": has,
        "options": [[_json(each), shown(each)] for each in options],
        "hint": "" if has else hint,
    }


def _kind(part: Mapping[str, Any], value: Any, *, has: bool) -> str:
    """Choose a field that can show the value there is, and any that may be."""
    kinds = part.get("type", ())
    kinds = {kinds} if isinstance(kinds, str) else set(kinds)
    if part.get("enum") and (not has or value in part["enum"]):
        return "choice"
    if kinds and kinds <= {"boolean", "null"}:
        return "check" if isinstance(value, bool) else "choice"
    if kinds and kinds <= _NUMBERS | {"null"} and not isinstance(value, str):
        return "number"
    if kinds and kinds <= {"string", "null"} and (not has or isinstance(value, str)):
        is_long = isinstance(value, str) and (len(value) > _LONG or "\n" in value)
        return "lines" if is_long else "line"
    return "json"


def _options(part: Mapping[str, Any], value: Any) -> Sequence[Any]:
    options: Sequence[Any] = part.get("enum") or (True, False)
    return options if value is None or value in options else (value, *options)


def _part(schema: Mapping[str, Any], part: Any) -> Mapping[str, Any]:
    """Give the schema of one argument, with a reference in it followed."""
    if not isinstance(part, Mapping):
        return {}
    target = str(part.get("$ref", "")).removeprefix("#/$defs/")
    found = (schema.get("$defs") or {}).get(target)
    return {**found, **part} if isinstance(found, Mapping) else part


def _value(name: str, kind: str, text: str) -> Any:
    try:
        return read_json(text)
    except ValueError:
        what = "a number" if kind == "number" else 'JSON, such as [1, 2] or "text"'
        message = f"{name}: write {what}."
        raise ToolArgumentsError(message) from None


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
