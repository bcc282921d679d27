"""`kyvsim config`: the settings of a project's configuration and variables, with origins."""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import click

from kyvsim.cli.command import (
    Command,
    command_contexts,
    configuration_files,
    read_values,
    use_settings,
    words_of,
)
from kyvsim.cli.commands import COMMANDS
from kyvsim.cli.parameters import (
    OUTPUT,
    Settable,
    argument,
    flag_option,
    is_flag,
    offering,
    origin_of,
    safe_option,
    settable,
    takes_map,
    takes_several,
)
from kyvsim.cli.streams import OK, UNUSABLE, print_diagnostics, write_out
from kyvsim.load.structure import DIALECT
from kyvsim.model.diagnostic import Diagnostic, has_errors, likely
from kyvsim.report.formats import JSON
from kyvsim.report.object_text import document_origin
from kyvsim.report.style import safe_line

_HELP = """Show effective settings and where each comes from.

Without COMMAND, the settings of all commands are shown. Settings are read from .kyvsim.yaml or
[tool.kyvsim] in pyproject.toml (in the working folder or a parent), and from environment variables
such as KYVSIM_APPLY_STRICT and KYVSIM_STRICT. A file named by --config or KYVSIM_CONFIG may set any
option; a discovered file may not start programs or write outside its folder.

\b
    kyvsim config
    kyvsim config apply --all
"""


class _Setting(NamedTuple):
    """The effective value of a parameter, and its origin."""

    command: str
    key: str
    value: Any
    origin: str


@click.command(
    "config",
    cls=Command,
    help=_HELP,
    epilog="Exit status: 0 on success, 2 if a setting is invalid.",
)
@argument(
    "words",
    nargs=-1,
    metavar="[COMMAND]...",
    shell_complete=offering(
        lambda ctx: (" ".join(words_of(context)) for context in command_contexts(ctx))
    ),
)
@flag_option("--all", "every", group=OUTPUT, help="Also show options that are not set.")
@safe_option(
    "-o",
    "--output-format",
    "--format",
    type=click.Choice(("text", "json")),
    default="text",
    show_default=True,
    group=OUTPUT,
    help="Output format.",
)
@flag_option("--schema", group=OUTPUT, help="Print the JSON Schema of .kyvsim.yaml.")
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> int:
    """Run `kyvsim config` and return its exit status."""
    if options["schema"]:
        write_out([json.dumps(configuration_schema(ctx), indent=2), "\n"], JSON)
        return OK
    entries: list[_Setting] = []
    remarks: dict[Diagnostic, None] = {}
    words = options["words"]
    known = {words_of(context): context for context in command_contexts(ctx)}
    contexts = [digest for path, digest in known.items() if path[: len(words)] == words]
    if not contexts:
        name = " ".join(words)
        hint = likely(name, (" ".join(path) for path in known))
        raise click.UsageError(f"unknown command `{name}`{hint}", ctx)
    for context in contexts:
        settings = use_settings(context)
        remarks |= dict.fromkeys((*settings.remarks, *read_values(context)))
        entries += _settings_of(context, every=options["every"])
    print_diagnostics(remarks)
    files = configuration_files(ctx).paths
    if options["output_format"] == "json":
        data = {
            "configuration": list(files),
            "settings": [one._asdict() for one in entries],
            "kyvsim": document_origin("config"),
        }
        write_out([json.dumps(data, indent=2), "\n"], JSON)
    else:
        write_out(_text(files, entries))
    return UNUSABLE if has_errors(remarks) else OK


def _settings_of(ctx: click.Context, *, every: bool) -> Iterator[_Setting]:
    """Yield the effective values of a command's parameters, as written."""
    name = " ".join(words_of(ctx))
    for parameter in settable(ctx.command):
        origin = origin_of(ctx, parameter)
        if origin is not None:
            variable = parameter.variable(ctx)
            value = os.environ[variable] if variable else (ctx.default_map or {})[parameter.name]
            yield _Setting(name, parameter.keys[0], _words(value), str(origin))
        elif every:
            default = parameter.to_info_dict()["default"]
            yield _Setting(name, parameter.keys[0], default, "default")


def _words(value: Any) -> list[str]:
    if isinstance(value, bool):
        return [json.dumps(value)]
    return [value] if isinstance(value, str) else list(value)


def _text(files: tuple[str, ...], entries: Iterable[_Setting]) -> Iterator[str]:
    """Yield the settings by command, in columns."""
    yield f"configuration: {safe_line(', '.join(files)) or 'none'}\n"
    rows = [(one.command, one.key, _shown(one.value), safe_line(one.origin)) for one in entries]
    widths = [max((len(row[column]) for row in rows), default=0) for column in (1, 2)]
    last = ""
    for name, key, value, origin in rows:
        if name != last:
            yield f"\n{name}\n"
            last = name
        yield f"  {key.ljust(widths[0])}  {value.ljust(widths[1])}  {origin}\n"


def _shown(value: object) -> str:
    if isinstance(value, list):
        return safe_line(", ".join(value)) or '""'
    if value is None:
        return ""
    return safe_line(value if isinstance(value, str) else json.dumps(value))


def configuration_schema(ctx: click.Context) -> Mapping[str, Any]:
    """Return the JSON Schema of `.kyvsim.yaml`."""
    shared: dict[str, Any] = {}
    parts: dict[str, Any] = {}
    for context in command_contexts(ctx):
        path = words_of(context)
        parameters = settable(context.command)
        properties = {key: _schema(one) for one in parameters for key in one.keys}
        keys = [key for one in parameters if one.shared for key in one.keys]
        shared |= {key: properties[key] for key in keys if key not in shared}
        inner = parts
        for word in path[:-1]:
            inner = inner.setdefault(word, _map(COMMANDS[word], {}))["properties"]
        text = COMMANDS.get(path[-1]) or context.command.short_help or ""
        inner[path[-1]] = _map(text, properties)
    return {
        "$schema": DIALECT,
        "title": "Configuration of kyvsim",
        **_map("Options of commands; the command line overrides them.", {**shared, **parts}),
    }


def _map(description: str, properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "description": description,
        "additionalProperties": False,
        "properties": properties,
    }


def _schema(parameter: Settable) -> dict[str, Any]:
    text = getattr(parameter, "help", None)
    described = {"description": text} if text else {}
    if is_flag(parameter):
        return {"type": "boolean", **described}
    schema: dict[str, Any] = {"type": ["string", "number"]}
    if isinstance(parameter.type, click.Choice):
        schema = {"enum": list(parameter.type.choices)}
    elif isinstance(parameter.type, click.IntRange):
        bounds = {"minimum": parameter.type.min, "maximum": parameter.type.max}
        schema = {"type": "integer", **{name: n for name, n in bounds.items() if n is not None}}
    if takes_several(parameter):
        forms = [schema, {"type": "array", "items": schema}]
        if takes_map(parameter):
            forms.append({"type": "object", "additionalProperties": {"type": ["string", "number"]}})
        return {"anyOf": forms, **described}
    return {**schema, **described}
