"""What is set for a command outside of its line: by variables, and by a project's configuration.

What is on the line counts first, then `KYVSIM_COMMAND_OPTION`, `KYVSIM_OPTION`, the command's part
of the configuration, and its keys for all commands. click looks it up: variables by their prefix,
the configuration as the default map of the command's context.

Codes: KV095 a key or variable that sets nothing, KV096 a value that does not fit its key.
"""

import os
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

import click

from kyvsim.cli.closing import print_diagnostics
from kyvsim.cli.commands import NO_CONFIG_HELP, PREFIX
from kyvsim.cli.discovered import Output, check_discovered, record_outputs
from kyvsim.cli.exit_status import UNUSABLE
from kyvsim.cli.parameters import (
    FALSE,
    TRUE,
    LineSettings,
    Option,
    PathType,
    Settable,
    is_flag,
    origin_of,
    settable,
    takes_several,
)
from kyvsim.kubernetes.objects import Json
from kyvsim.load.configuration import (
    Configuration,
    ConfigurationFiles,
    project_files,
    read_configuration,
)
from kyvsim.model.diagnostic import Diagnostic, Severity, likely
from kyvsim.model.source import Location

CONFIG = "config_file"
"""The name of the option that names a configuration."""
NO_CONFIG = "no_config"
_FILE = f"{PREFIX}_CONFIG"
"""Names a configuration; empty for none."""
_OTHERS = frozenset({_FILE, f"{PREFIX}_TRACEBACK"})
_LARGEST = (1 << 63) - 1
"""TOML has integers of 64 bits; its reader takes larger ones, which Python does not print."""


class Settings(NamedTuple):
    """What a configuration sets for a command."""

    values: dict[str, Any]
    """By the names of parameters."""
    origins: dict[str, Location]
    outputs: list[Output]
    """What is written because a configuration that nobody named says so."""
    remarks: list[Diagnostic]

    def refuse(self, code: str, text: str, place: Location) -> None:
        """Add an error."""
        self.remarks.append(Diagnostic(code, Severity.ERROR, text, place))


class NoConfig(Option):
    """`--no-config`, which is read before other parameters: what these are may be in a file."""

    def __init__(self, *, reads_settings: bool) -> None:
        super().__init__(
            ["--no-config", NO_CONFIG],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            help=NO_CONFIG_HELP,
        )
        self.reads_settings = reads_settings

    def handle_parse_result(
        self, ctx: click.Context, opts: Mapping[str, Any], args: list[str]
    ) -> tuple[Any, list[str]]:
        """Read what is set for the command, but for help, which is shown whatever is set."""
        result = super().handle_parse_result(ctx, opts, args)
        if not (ctx.resilient_parsing or opts.get("help")):
            ctx.obj = LineSettings(_named_on_line(ctx, opts))
            if self.reads_settings:
                _read_settings(ctx)
        return result


def _named_on_line(ctx: click.Context, opts: Mapping[str, Any]) -> str | None:
    """Return the configuration that a line names, before the command or after it."""
    before = ctx.find_root().params
    given = [one for one in (before.get(CONFIG), opts.get(CONFIG)) if one is not None]
    if not (before.get(NO_CONFIG) or opts.get(NO_CONFIG)):
        return given[-1] if given else None
    if given:
        text = "--config and --no-config exclude each other: give one of them"
        raise click.UsageError(text, ctx)
    return ""


def _read_settings(ctx: click.Context) -> None:
    """Read what is set for a command, and report what is wrong; errors end the program."""
    found = use_settings(ctx)
    print_diagnostics(found.remarks)
    if any(one.severity is Severity.ERROR for one in found.remarks):
        ctx.exit(UNUSABLE)
    if found.outputs:
        ctx.call_on_close(partial(record_outputs, found.outputs))


def use_settings(ctx: click.Context) -> Settings:
    """Put what the configuration sets into a context, and return it with all that is wrong."""
    found = Settings({}, {}, [], [])
    files = configuration_files(ctx)
    configuration, problems = read_configuration(files) if files.paths else (None, ())
    found.remarks.extend(problems)
    if configuration is not None:
        _read_levels(ctx, configuration, found)
    found.remarks.extend(_wrong_variables(ctx))
    ctx.default_map = found.values
    ctx.obj = ctx.obj._replace(origins=found.origins)
    return found


def configuration_files(ctx: click.Context) -> ConfigurationFiles:
    """Return the configuration that counts here and now, and whether the user named it."""
    line = ctx.find_object(LineSettings)
    file = line.config if line else None
    if file is None:
        file = os.environ.get(_FILE)
    if file is None:
        return ConfigurationFiles(project_files(), named=False)
    return ConfigurationFiles((file,) if file else ())


def read_values(ctx: click.Context) -> list[Diagnostic]:
    """Read into a context what is set for its command, without a line; return what is no value.

    What a command reads when it is run, such as formats, is not looked at.
    """
    wrong: list[Diagnostic] = []
    for parameter in settable(ctx.command):
        try:
            parameter.handle_parse_result(ctx, {}, [])
        except click.UsageError as error:
            place = origin_of(ctx, parameter)
            if place:  # what is required may well be missing
                wrong.append(Diagnostic("KV096", Severity.ERROR, error.format_message(), place))
    return sorted(wrong, key=lambda one: one.location or Location(""))


def command_contexts(ctx: click.Context) -> Iterator[click.Context]:
    """Yield a context for each command of the program; their modules are loaded for it."""
    yield from _contexts_below(ctx.find_root(), ctx.obj)


def _contexts_below(parent: click.Context, obj: Any) -> Iterator[click.Context]:
    if not isinstance(parent.command, click.Group):
        yield parent
        return
    for name in parent.command.list_commands(parent):
        command = parent.command.get_command(parent, name)
        if command is not None:
            yield from _contexts_below(click.Context(command, parent, name, obj), obj)


def words_of(ctx: click.Context) -> tuple[str, ...]:
    """Return the words that lead to a command, after the name of the program."""
    return tuple(ctx.command_path.split()[1:])


def _read_levels(ctx: click.Context, configuration: Configuration, found: Settings) -> None:
    """Add what is set by keys for all commands, then by those of the command, the stronger."""
    chain = [ctx]
    while chain[0].parent:
        chain.insert(0, chain[0].parent)
    level: Json = configuration.data
    path: tuple[str, ...] = ()
    for one in chain:
        if one.parent:
            path += (one.info_name or "",)
            level = level.get(path[-1])
        if level is None:
            return
        if not isinstance(level, Mapping):
            found.refuse("KV096", f"`{path[-1]}` must be a map", configuration.locate(path))
            return
        commands = one.command.list_commands(one) if isinstance(one.command, click.Group) else ()
        known = {
            key: parameter
            for parameter in settable(ctx.command)
            for key in parameter.keys
            if one is ctx or (parameter.shared and not one.parent)
        }
        for key, value in level.items():
            if key in known:
                _read_key(known[key], value, configuration, (*path, key), found)
            elif key not in commands:
                _refuse_key(one, {*known, *commands}, configuration, (*path, key), found)


def _read_key(
    parameter: Settable,
    value: Json,
    configuration: Configuration,
    path: tuple[str, ...],
    found: Settings,
) -> None:
    """Add what one key sets, or what is wrong with it."""
    place = configuration.locate(path)
    try:
        read = _value_of(parameter, value, configuration.folder)
    except ValueError as error:
        found.refuse("KV096", f"`{path[-1]}` {error}", place)
        return
    if not configuration.named:
        checked = list(check_discovered(parameter, value, configuration, path))
        refused = [one for one in checked if isinstance(one, Diagnostic)]
        found.outputs.extend(one for one in checked if isinstance(one, Output))
        found.remarks.extend(refused)
        if refused:
            return
    found.values[parameter.name or ""] = read
    found.origins[parameter.name or ""] = place


def _value_of(parameter: Settable, value: Json, folder: str) -> Any:
    """Return a value as click takes it; raises ValueError with what it has to be."""
    if is_flag(parameter):
        if isinstance(value, bool):
            return value
        raise ValueError("must be true or false")
    several = takes_several(parameter)
    values = value if isinstance(value, list) and several else [value]
    if any(isinstance(one, bool) or not isinstance(one, str | int | float) for one in values):
        wanted = "a text, or a list of texts" if several else "a text or a number"
        raise ValueError(f"must be {wanted}")
    if any(isinstance(one, int) and abs(one) > _LARGEST for one in values):
        raise ValueError("must be a number of at most 64 bits")
    texts = tuple(str(one) for one in values)
    if isinstance(parameter.type, PathType):
        texts = tuple(parameter.type.below(folder, one) for one in texts)
    return texts if several else texts[0]


def _refuse_key(
    level: click.Context,
    known: set[str],
    configuration: Configuration,
    path: tuple[str, ...],
    found: Settings,
) -> None:
    """Add that a key sets nothing; at the top it may set something for another command."""
    key = path[-1]
    why = ""
    if not level.parent:
        others = (one.command for one in command_contexts(level))
        known |= {key for one in others for p in settable(one) if p.shared for key in p.keys}
        if key in known:
            return
    else:
        options = (one for one in level.command.params if isinstance(one, Option))
        why = next((str(o.help) for o in options if o.hidden and f"--{key}" in o.opts), "")
    hint = f": {why}" if why else likely(key, known)
    found.refuse("KV095", f"`{key}` sets nothing here{hint}", configuration.locate(path))


def _wrong_variables(ctx: click.Context) -> Iterator[Diagnostic]:
    """Yield what is wrong with variables that set something, or seem to be meant to."""
    left = {
        name: value
        for name, value in os.environ.items()
        if name.startswith(f"{PREFIX}_") and name not in _OTHERS
    }
    for parameter in settable(ctx.command):
        for name in parameter.variables(ctx):
            value = left.pop(name, None)
            if value is not None and is_flag(parameter) and value.lower() not in {*TRUE, *FALSE}:
                text = f"`{value}` is neither true nor false"
                yield Diagnostic("KV096", Severity.ERROR, text, Location(name))
    if not left:
        return
    known = {
        name
        for one in command_contexts(ctx)
        for parameter in settable(one.command)
        for name in parameter.variables(one)
    }
    for name in sorted(left.keys() - known):
        # Others may be anybody's, and are no business of ours.
        if hint := likely(name, known):
            text = f"the variable sets nothing{hint}"
            yield Diagnostic("KV095", Severity.WARNING, text, Location(name))
