"""Settings from configuration files and environment variables."""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

import click

from kyvsim.cli.closing import UNUSABLE, print_diagnostics
from kyvsim.cli.commands import NO_CONFIG_HELP, PREFIX
from kyvsim.cli.parameters import (
    FALSE,
    TRUE,
    Effect,
    LineSettings,
    Option,
    PathType,
    Settable,
    is_flag,
    origin_of,
    settable,
    takes_several,
)
from kyvsim.kubernetes.objects import Json, Path
from kyvsim.load.configuration import (
    Configuration,
    ConfigurationFiles,
    project_files,
    read_configuration,
)
from kyvsim.load.scratch import ScratchFiles
from kyvsim.model.diagnostic import Diagnostic, Severity, likely
from kyvsim.model.source import Location

# What a configuration may set that kyvsim discovered, and the outputs that it may choose.
#
# Whoever wrote the folder wrote the configuration: it may be a clone that nobody has looked at.
# The
# outputs that it chooses stay below its folder and replace only what kyvsim has written: digests
# of
# that are kept in `.kyvsim/outputs.json` beside the configuration. A clone may bring such a file,
# but
# it can name digests only of files that it brings as well, not of what the user has written.
#
# Codes: KV056 a setting that only the user may choose, KV057 an output that would replace a file.

RECORD_FOLDER = ".kyvsim"
_RECORD = "outputs.json"
_RECORD_BYTES = 1 << 20
"""A larger record is not kyvsim's."""
_OF_VERSION_CONTROL = frozenset({".bzr", ".git", ".hg", ".jj", ".svn"})
"""Folders that decide what other programs run; a clone cannot bring what is in them."""
_OBJECTS = ("-mutated.yaml", "-generated.yaml")
_FLAG_EFFECTS = frozenset({Effect.OVERWRITES, Effect.RUNS})
_FILE_EFFECTS = frozenset({Effect.WRITES_FILE, Effect.WRITES_OBJECTS})


class Output(NamedTuple):
    """A path below the folder of a configuration that is written because that says so."""

    folder: str
    """The real path of the folder of the configuration."""
    place: str
    """The real path of what is written: one file, or a folder for files."""


class _Given(NamedTuple):
    """A value in a configuration, and where it is."""

    key: str
    value: Json
    configuration: Configuration
    path: Path

    def refused(self, what: str) -> Diagnostic:
        """Return the error that only the user may set this; `what` says what it decides."""
        text = (
            f"`{self.key}` {what}, which a discovered configuration cannot set: use the "
            f"command line or a variable, or name this file with --config"
        )
        return Diagnostic("KV056", Severity.ERROR, text, self.configuration.locate(self.path))


def check_discovered(
    parameter: Settable, value: Json, configuration: Configuration, path: Path
) -> Iterator[Output | Diagnostic]:
    """Yield what is written because a discovered configuration says so, and what it must not say.

    `path` leads to the key and its value in the configuration.
    """
    values = value if isinstance(value, list) else [value]
    for number, one in enumerate(values):
        place = (*path, number) if isinstance(value, list) else path
        found = _checked(parameter, _Given(str(path[-1]), one, configuration, place))
        if found is not None:
            yield found


def _checked(parameter: Settable, given: _Given) -> Output | Diagnostic | None:
    value, effect = given.value, parameter.effect
    if is_flag(parameter):
        return given.refused(effect.value) if value is True and effect in _FLAG_EFFECTS else None
    if effect in {Effect.RUNS, Effect.CONNECTS, Effect.OVERWRITES}:
        return given.refused(effect.value)
    if not isinstance(parameter.type, PathType):
        return None
    _, path = parameter.type.split(str(value))
    if "://" in path:
        return given.refused("connects to an address")
    return None if effect is Effect.NONE or not path else _output(effect, path, given)


def _output(effect: Effect, path: str, given: _Given) -> Output | Diagnostic:
    """Return the output at a path, or why a discovered configuration must not choose it."""
    folder = os.path.realpath(given.configuration.folder or os.curdir)
    try:
        place = os.path.realpath(os.path.join(folder, path))
    except (OSError, ValueError) as error:
        return given.refused(f"writes to a path that cannot be resolved ({error})")
    inside = _inside(folder, place)
    if inside is None:
        return given.refused(f"writes outside of the folder of this file, to {place}")
    if _OF_VERSION_CONTROL.intersection(inside.lower().split(os.sep)):
        return given.refused(f"writes into a folder of version control, to {place}")
    output = Output(folder, place)
    known = _recorded(folder)
    if effect in _FILE_EFFECTS:
        for one in _written_files(output):
            if not _is_own(folder, one, known):
                text = (
                    f"`{given.key}` would replace {os.path.relpath(one)}, which kyvsim has not "
                    f"written: remove or rename it, or use the command line"
                )
                place_of = given.configuration.locate(given.path)
                return Diagnostic("KV057", Severity.ERROR, text, place_of)
    return output


def _inside(folder: str, place: str) -> str | None:
    """Return a real path relative to a folder, None where it is not below that."""
    prefix = os.path.join(folder, "")
    whole = os.path.normcase(place)
    return place[len(prefix) :] if whole.startswith(os.path.normcase(prefix)) else None


def _written_files(output: Output) -> Iterator[str]:
    """Yield the files that are there now of those that are written for an output."""
    if not os.path.isdir(output.place):
        if os.path.lexists(output.place):
            yield output.place
        return
    for name in sorted(os.listdir(output.place)):
        if name.endswith(_OBJECTS):
            yield os.path.join(output.place, name)


def _is_own(folder: str, file: str, known: Mapping[str, str]) -> bool:
    """Return whether a file is as kyvsim wrote it."""
    digest = known.get(_key(folder, file))
    return digest is not None and digest == _digest(file)


def _key(folder: str, file: str) -> str:
    return os.path.relpath(file, folder).replace(os.sep, "/")


def _digest(file: str) -> str:
    """Return the digest of a regular file, "" for all else."""
    if os.path.islink(file) or not os.path.isfile(file):
        return ""
    from hashlib import file_digest  # noqa: PLC0415 — loads OpenSSL, which few runs need

    try:
        with open(file, "rb") as stream:
            return file_digest(stream, "sha256").hexdigest()
    except OSError:
        return ""


def _recorded(folder: str) -> dict[str, str]:
    """Return the digests of files that kyvsim has written, by path; none of an odd record."""
    try:
        with open(os.path.join(folder, RECORD_FOLDER, _RECORD), "rb") as stream:
            text = stream.read(_RECORD_BYTES + 1)
        found = json.loads(text) if len(text) <= _RECORD_BYTES else {}
    except (OSError, ValueError, RecursionError):
        return {}
    entries = found.items() if isinstance(found, dict) else ()
    return {key: value for key, value in entries if isinstance(value, str)}


def record_outputs(outputs: Iterable[Output]) -> None:
    """Remember what is in the outputs now, so that the next run may replace it.

    Where that cannot be written, the next run refuses to replace them, which is the safe side.
    """
    folders: dict[str, list[Output]] = {}
    for one in outputs:
        folders.setdefault(one.folder, []).append(one)
    for folder, some in folders.items():
        found = {
            _key(folder, file): digest
            for one in some
            for file in _written_files(one)
            if (digest := _digest(file))
        }
        known = _recorded(folder)
        kept = {key: one for key, one in known.items() if os.path.lexists(f"{folder}/{key}")}
        if found and kept | found != known:
            _write_record(os.path.join(folder, RECORD_FOLDER), kept | found)


def _write_record(folder: str, digests: Mapping[str, str]) -> None:
    text = json.dumps(digests, indent=2, sort_keys=True)
    texts = {".gitignore": "*\n", _RECORD: f"{text}\n"}
    scratch = ScratchFiles()
    try:
        os.makedirs(folder, exist_ok=True)
        if os.path.islink(folder):
            return
        for name, content in texts.items():
            place = os.path.join(folder, name)
            temporary = scratch.file_for(place)
            with open(temporary, "x", encoding="utf-8") as stream:
                stream.write(content)
            os.replace(temporary, place)
    except (OSError, UnicodeError):
        return
    finally:
        scratch.close()


# What is set for a command outside of its line: by variables, and by a project's configuration.
#
# What is on the line counts first, then `KYVSIM_COMMAND_OPTION`, `KYVSIM_OPTION`, the command's
# part
# of the configuration, and its keys for all commands. click looks it up: variables by their
# prefix,
# the configuration as the default map of the command's context.
#
# Codes: KV095 a key or variable that sets nothing, KV096 a value that does not fit its key.

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
        text = "--config and --no-config cannot be combined: choose one of them"
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
        wanted = "a string, or a list of strings" if several else "a string or a number"
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
    """Report a key that sets nothing; at the top it may set an option of another command."""
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
    found.refuse("KV095", f"`{key}` is not a setting here{hint}", configuration.locate(path))


def _wrong_variables(ctx: click.Context) -> Iterator[Diagnostic]:
    """Yield diagnostics about variables that set an option, or seem to be meant to."""
    left = {
        name: value
        for name, value in os.environ.items()
        if name.startswith(f"{PREFIX}_") and name not in _OTHERS
    }
    if not left:
        return
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
        # Others may belong to another program.
        if hint := likely(name, known):
            text = f"the variable does not set any option{hint}"
            yield Diagnostic("KV095", Severity.WARNING, text, Location(name))
