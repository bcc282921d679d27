"""`kyvsim config`: what a project's configuration and variables set, and from where."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from kyvsim.cli import declared
from kyvsim.cli.by_click import read_settings
from kyvsim.cli.closing import say_remarks
from kyvsim.cli.commands import every_command
from kyvsim.cli.configuration_schema import configuration_schema
from kyvsim.cli.exit_status import OK, UNUSABLE
from kyvsim.cli.settings import every_setting
from kyvsim.cli.settled import configuration_files, variables_now
from kyvsim.cli.streams import write_out
from kyvsim.model.diagnostic import Diagnostic, Severity, likely
from kyvsim.report.log_commands import JSON
from kyvsim.report.style import safe_line

_HELP = """Show what is set for commands outside of their lines, and where.

COMMAND is the name of a command; without it all are shown. Settings are those of .kyvsim.yaml or of
[tool.kyvsim] in pyproject.toml, in this folder or above it, and of variables such as
KYVSIM_APPLY_STRICT and KYVSIM_STRICT. A file that --config or KYVSIM_CONFIG names may set all of
them; one that is discovered decides neither what runs nor what is written outside of its folder.

\b
    kyvsim config
    kyvsim config apply --all
"""
_DEFAULT = "default"


class _Held(NamedTuple):
    """One parameter of a command: what holds, and from where."""

    command: str
    key: str
    value: Any
    origin: str


@declared.command(
    help=_HELP, epilog="Exit status: 0, or 2 where something is set that cannot be meant."
)
@declared.argument(
    "words",
    nargs=-1,
    metavar="[COMMAND]...",
    type=declared.Named(lambda: dict.fromkeys(map(" ".join, every_command()))),
)
@declared.option("--all", "every", is_flag=True, help="Show what is not set, too.")
@declared.option(
    "-o",
    "--output-format",
    type=declared.Choice(("text", "json")),
    default="text",
    show_default=True,
    help="How it is printed.",
)
@declared.option("--schema", is_flag=True, help="Print the JSON Schema of configurations.")
@declared.pass_call
def command(call: declared.Call, /, **options: Any) -> int:
    """Run `kyvsim config` and return its exit status."""
    if options["schema"]:
        write_out([json.dumps(configuration_schema(), indent=2), "\n"], JSON)
        return OK
    commands = _asked(options["words"], call)
    files, variables = configuration_files(call), variables_now()
    held: list[_Held] = []
    remarks: dict[Diagnostic, None] = {}
    for path, one in commands.items():
        found = every_setting(path, one, files, variables)
        called = declared.Call(f"kyvsim {' '.join(path)}", one)
        remarks |= dict.fromkeys((*found.remarks, *read_settings(called, found.settings)[1]))
        held += _held(path, one, found.settings, every=options["every"])
    say_remarks(remarks)
    if options["output_format"] == "json":
        write_out(_json(files.paths, held), JSON)
    else:
        write_out(_text(files.paths, held))
    return UNUSABLE if any(one.severity is Severity.ERROR for one in remarks) else OK


def _asked(
    words: tuple[str, ...], call: declared.Call
) -> Mapping[tuple[str, ...], declared.Command]:
    """Return the commands whose names begin with some words; raises UsageError for none."""
    known = every_command()
    found = {path: one for path, one in known.items() if path[: len(words)] == words}
    if not found:
        name = " ".join(words)
        hint = likely(name, (" ".join(path) for path in known))
        raise declared.UsageError(f"there is no command `{name}`{hint}", call)
    return found


def _held(
    path: tuple[str, ...],
    command: declared.Command,
    settings: Mapping[str, declared.Setting],
    *,
    every: bool,
) -> Iterator[_Held]:
    name = " ".join(path)
    for parameter in command.parameters:
        setting = settings.get(parameter.name)
        if setting is not None:
            yield _Held(name, parameter.keys[0], list(setting.words), str(setting.origin))
        elif every and parameter.keys:
            yield _Held(name, parameter.keys[0], parameter.settings.get("default"), _DEFAULT)


def _text(files: tuple[str, ...], held: Iterable[_Held]) -> Iterator[str]:
    """Yield the settings below the commands for which they count, in columns."""
    yield f"configuration: {safe_line(', '.join(files)) or 'none'}\n"
    rows = [(one.command, one.key, _shown(one.value), safe_line(one.origin)) for one in held]
    widths = [max((len(row[column]) for row in rows), default=0) for column in (1, 2)]
    last = ""
    for name, key, value, origin in rows:
        if name != last:
            yield f"\n{name}\n"
            last = name
        yield f"  {key.ljust(widths[0])}  {value.ljust(widths[1])}  {origin}\n"


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return safe_line(", ".join(value)) or '""'
    if value is None:
        return ""
    return safe_line(value if isinstance(value, str) else json.dumps(value))


def _json(files: tuple[str, ...], held: Iterable[_Held]) -> Iterator[str]:
    settings = [one._asdict() for one in held]
    yield json.dumps({"configuration": list(files), "settings": settings}, indent=2)
    yield "\n"
