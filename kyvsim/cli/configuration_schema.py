"""The JSON Schema of configurations, for editors: made of what commands take."""

from collections.abc import Iterable, Mapping
from typing import Any

from kyvsim.cli.commands import COMMANDS, every_command
from kyvsim.cli.declared import Choice, IntRange, Parameter, is_flag
from kyvsim.load.json_schema import DIALECT


def configuration_schema() -> Mapping[str, Any]:
    """Return the schema of `.kyvsim.yaml`, as data."""
    shared: dict[str, Any] = {}
    parts: dict[str, Any] = {}
    for path, command in every_command().items():
        shared |= _properties(one for one in command.parameters if one.shared)
        inner = parts
        for word in path[:-1]:
            inner = inner.setdefault(word, _map(COMMANDS[word], {}))["properties"]
        text = COMMANDS.get(path[-1]) or command.short_help or ""
        inner[path[-1]] = _map(text, _properties(command.parameters))
    return {
        "$schema": DIALECT,
        "title": "Configuration of kyvsim",
        **_map("What is set for commands; a line says otherwise.", {**shared, **parts}),
    }


def _map(description: str, properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "description": description,
        "additionalProperties": False,
        "properties": properties,
    }


def _properties(parameters: Iterable[Parameter]) -> dict[str, Any]:
    return {key: _schema(one) for one in parameters for key in one.keys}


def _schema(parameter: Parameter) -> dict[str, Any]:
    told = {"description": parameter.settings["help"]} if "help" in parameter.settings else {}
    if is_flag(parameter):
        return {"type": "boolean", **told}
    kind = parameter.settings.get("type")
    one: dict[str, Any] = {"type": ["string", "number"]}
    if isinstance(kind, Choice):
        one = {"enum": list(kind.words)}
    elif isinstance(kind, IntRange):
        bounds = {"minimum": kind.least, "maximum": kind.most}
        one = {"type": "integer", **{name: n for name, n in bounds.items() if n is not None}}
    if parameter.settings.get("multiple") or parameter.settings.get("nargs") == -1:
        return {"anyOf": [one, {"type": "array", "items": one}], **told}
    return {**one, **told}
