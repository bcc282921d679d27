"""Commands and groups of click, with settings from files and variables, and Go's syntax."""

import contextlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, suppress
from functools import partial
from typing import Any, NamedTuple

import click
from click.core import ParameterSource

from kyvsim.cli.commands import CONFIG_HELP, NO_CONFIG_HELP, PREFIX
from kyvsim.cli.parameters import (
    FALSE,
    SECTIONS,
    TRUE,
    Effect,
    LineSettings,
    Option,
    PathType,
    Settable,
    is_flag,
    origin_of,
    settable,
    takes_map,
    takes_several,
)
from kyvsim.cli.streams import UNUSABLE, print_diagnostics
from kyvsim.kubernetes.objects import Json, Path
from kyvsim.load.configuration import (
    Configuration,
    ConfigurationFiles,
    project_files,
    read_configuration,
)
from kyvsim.load.scratch import ScratchFiles
from kyvsim.model.diagnostic import Diagnostic, Severity, has_errors, likely
from kyvsim.model.source import Location

# A discovered configuration may come from an unknown clone, so its outputs must be in its folder,
# and may only replace files that kyvsim has written, according to the digests in
# `.kyvsim/outputs.json`. A clone may contain such a file, but only with digests of files in the
# clone, not of the user's.
# Codes: KV056 a setting that only the user may choose, KV057 an output that would replace a file.

RECORD_FOLDER = ".kyvsim"
_RECORD = "outputs.json"
_RECORD_BYTES = 1 << 20
_OF_VERSION_CONTROL = frozenset({".bzr", ".git", ".hg", ".jj", ".svn"})
"""Folders that affect other programs, and that cannot be part of a clone."""
_OBJECTS = ("-mutated.yaml", "-generated.yaml")
_FLAG_EFFECTS = frozenset({Effect.OVERWRITES, Effect.RUNS})
_FILE_EFFECTS = frozenset({Effect.WRITES_FILE, Effect.WRITES_OBJECTS})


class Output(NamedTuple):
    """An output chosen by a discovered configuration."""

    folder: str
    """The real path of the configuration's folder."""
    place: str
    """The real path of the file or folder."""


class _Given(NamedTuple):
    """A value in a configuration."""

    key: str
    value: Json
    configuration: Configuration
    path: Path

    def refused(self, what: str) -> Diagnostic:
        """Return the error that only the user may set this; `what` is its effect."""
        text = (
            f"`{self.key}` {what}, which a discovered configuration cannot set: use the "
            f"command line or a variable, or name this file with --config"
        )
        return Diagnostic("KV056", Severity.ERROR, text, self.configuration.locate(self.path))


def check_discovered(
    parameter: Settable, value: Json, configuration: Configuration, path: Path
) -> Iterator[Output | Diagnostic]:
    """Yield the outputs that a discovered configuration chooses, or errors.

    `path` is the path of the key.
    """
    is_list, effect = isinstance(value, list), parameter.effect
    for number, item in enumerate(value if is_list else [value]):
        place = (*path, number) if is_list else path
        given = _Given(str(path[-1]), item, configuration, place)
        if is_flag(parameter):
            if item is True and effect in _FLAG_EFFECTS:
                yield given.refused(effect.value)
        elif effect in {Effect.RUNS, Effect.CONNECTS, Effect.OVERWRITES}:
            yield given.refused(effect.value)
        elif isinstance(parameter.type, PathType):
            _, file = parameter.type.split(str(item))
            if "://" in file:
                yield given.refused("connects to an address")
            elif effect is not Effect.NONE and file:
                yield _output(effect, file, given)


def _output(effect: Effect, path: str, given: _Given) -> Output | Diagnostic:
    """Return the output at a path, or an error if it is not allowed."""
    folder = os.path.realpath(given.configuration.folder or os.curdir)
    try:
        place = os.path.realpath(os.path.join(folder, path))
    except (OSError, ValueError) as error:
        return given.refused(f"writes to a path that cannot be resolved ({error})")
    prefix = os.path.join(folder, "")
    whole = os.path.normcase(place)
    inside = place[len(prefix) :] if whole.startswith(os.path.normcase(prefix)) else None
    if inside is None:
        return given.refused(f"writes outside of the folder of this file, to {place}")
    if _OF_VERSION_CONTROL.intersection(inside.lower().split(os.sep)):
        return given.refused(f"writes into a folder of version control, to {place}")
    output = Output(folder, place)
    known = _recorded(folder)
    if effect in _FILE_EFFECTS:
        for file in _written_files(output):
            digest = known.get(_key(folder, file))
            if digest is None or digest != _digest(file):  # modified, or not written by kyvsim
                text = (
                    f"`{given.key}` would replace {os.path.relpath(file)}, which kyvsim has not "
                    f"written: remove or rename it, or use the command line"
                )
                place_of = given.configuration.locate(given.path)
                return Diagnostic("KV057", Severity.ERROR, text, place_of)
    return output


def _written_files(output: Output) -> Iterator[str]:
    """Yield the existing files of an output."""
    if not os.path.isdir(output.place):
        if os.path.lexists(output.place):
            yield output.place
        return
    for name in sorted(os.listdir(output.place)):
        if name.endswith(_OBJECTS):
            yield os.path.join(output.place, name)


def _key(folder: str, file: str) -> str:
    return os.path.relpath(file, folder).replace(os.sep, "/")


def _digest(file: str) -> str:
    """Return the digest of a regular file; "" for others."""
    if os.path.islink(file) or not os.path.isfile(file):
        return ""
    from hashlib import file_digest  # noqa: PLC0415 — loads OpenSSL, which few runs need

    try:
        with open(file, "rb") as stream:
            return file_digest(stream, "sha256").hexdigest()
    except OSError:
        return ""


def _recorded(folder: str) -> dict[str, str]:
    """Return the recorded digests of files that kyvsim has written, by path."""
    try:
        with open(os.path.join(folder, RECORD_FOLDER, _RECORD), "rb") as stream:
            text = stream.read(_RECORD_BYTES + 1)
        record = json.loads(text) if len(text) <= _RECORD_BYTES else {}
    except (OSError, ValueError, RecursionError):
        return {}
    entries = record.items() if isinstance(record, dict) else ()
    return {key: value for key, value in entries if isinstance(value, str)}


def record_outputs(outputs: Iterable[Output]) -> None:
    """Record the digests of outputs, so that the next run may replace them.

    If that fails, the next run will not replace them.
    """
    folders: dict[str, list[Output]] = {}
    for output in outputs:
        folders.setdefault(output.folder, []).append(output)
    for parent, own in folders.items():
        digests = {
            _key(parent, file): digest
            for output in own
            for file in _written_files(output)
            if (digest := _digest(file))
        }
        known = _recorded(parent)
        kept = {key: digest for key, digest in known.items() if os.path.lexists(f"{parent}/{key}")}
        if not digests or kept | digests == known:
            continue
        folder = os.path.join(parent, RECORD_FOLDER)
        text = json.dumps(kept | digests, indent=2, sort_keys=True)
        with suppress(OSError, UnicodeError), closing(ScratchFiles()) as scratch:
            os.makedirs(folder, exist_ok=True)
            if os.path.islink(folder):
                continue
            for name, content in ((".gitignore", "*\n"), (_RECORD, f"{text}\n")):
                place = os.path.join(folder, name)
                temporary = scratch.file_for(place)
                with open(temporary, "x", encoding="utf-8", newline="\n") as stream:
                    stream.write(content)
                os.replace(temporary, place)


# The command line has the highest precedence, then `KYVSIM_COMMAND_OPTION`, `KYVSIM_OPTION`, the
# command's part of the configuration, and its keys for all commands. click reads variables by their
# prefix, and the configuration as the default map of the command's context.
# Codes: KV095 an unknown key or variable, KV096 an invalid value of a key.

CONFIG = "config_file"
"""The name of the parameter for the configuration."""
NO_CONFIG = "no_config"
_FILE = f"{PREFIX}_CONFIG"
_OTHERS = frozenset({_FILE, f"{PREFIX}_TRACEBACK"})
_LARGEST = (1 << 63) - 1
"""TOML's largest integer."""


class Settings(NamedTuple):
    """The settings of a configuration for a command."""

    values: dict[str, Any]
    origins: dict[str, Location]
    outputs: list[Output]
    remarks: list[Diagnostic]

    def refuse(self, code: str, text: str, place: Location) -> None:
        """Add an error."""
        self.remarks.append(Diagnostic(code, Severity.ERROR, text, place))


class NoConfig(Option):
    """`--no-config`, which is processed before other parameters."""

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
        self, ctx: click.Context, opts: Mapping[str, object], args: list[str]
    ) -> tuple[Any, list[str]]:
        """Read the settings of the command, except for --help."""
        result = super().handle_parse_result(ctx, opts, args)
        if not (ctx.resilient_parsing or opts.get("help")):
            ctx.obj = LineSettings(_named_on_line(ctx, opts))
            if self.reads_settings:
                settings = use_settings(ctx)
                print_diagnostics(settings.remarks)
                if has_errors(settings.remarks):
                    ctx.exit(UNUSABLE)
                if settings.outputs:
                    ctx.call_on_close(partial(record_outputs, settings.outputs))
        return result


def _named_on_line(ctx: click.Context, opts: Mapping[str, Any]) -> str | None:
    """Return the configuration in the command line, before or after the command."""
    before = ctx.find_root().params
    given = [file for file in (before.get(CONFIG), opts.get(CONFIG)) if file is not None]
    if not (before.get(NO_CONFIG) or opts.get(NO_CONFIG)):
        return given[-1] if given else None
    if given:
        text = "--config and --no-config cannot be combined: choose one of them"
        raise click.UsageError(text, ctx)
    return ""


def use_settings(ctx: click.Context) -> Settings:
    """Set the defaults of a context from the configuration; return them with diagnostics."""
    settings = Settings({}, {}, [], [])
    files = configuration_files(ctx)
    configuration, problems = read_configuration(files) if files.paths else (None, ())
    settings.remarks.extend(problems)
    if configuration is not None:
        _read_levels(ctx, configuration, settings)
    settings.remarks.extend(_wrong_variables(ctx))
    ctx.default_map = settings.values
    ctx.obj = ctx.obj._replace(origins=settings.origins)
    return settings


def configuration_files(ctx: click.Context) -> ConfigurationFiles:
    """Return the configuration files, and whether the user named them."""
    line = ctx.find_object(LineSettings)
    file = line.config if line else None
    if file is None:
        file = os.environ.get(_FILE)
    if file is None:
        return ConfigurationFiles(project_files(), named=False)
    return ConfigurationFiles((file,) if file else ())


def read_values(ctx: click.Context) -> list[Diagnostic]:
    """Read the settings of a context's command without a command line; return errors.

    Values that a command parses itself, such as formats, are not checked.
    """
    wrong: list[Diagnostic] = []
    for parameter in settable(ctx.command):
        try:
            parameter.handle_parse_result(ctx, {}, [])
        except click.UsageError as error:
            place = origin_of(ctx, parameter)
            if place:  # required parameters may be missing
                wrong.append(Diagnostic("KV096", Severity.ERROR, error.format_message(), place))
    return sorted(wrong, key=lambda diagnostic: diagnostic.location or Location(""))


def command_contexts(ctx: click.Context) -> Iterator[click.Context]:
    """Yield a context for each command; this imports their modules."""
    pending = [ctx.find_root()]
    while pending:
        parent = pending.pop()
        if not isinstance(parent.command, click.Group):
            yield parent
            continue
        for name in reversed(parent.command.list_commands(parent)):
            command = parent.command.get_command(parent, name)
            if command is not None:
                pending.append(click.Context(command, parent, name, ctx.obj))


def words_of(ctx: click.Context) -> tuple[str, ...]:
    """Return the words of a command, without the program's name."""
    return tuple(ctx.command_path.split()[1:])


def _read_levels(ctx: click.Context, configuration: Configuration, settings: Settings) -> None:
    """Add the settings for all commands, then those of the command, which override them."""
    chain = [ctx]
    while chain[0].parent:
        chain.insert(0, chain[0].parent)
    level: Json = configuration.data
    path: tuple[str, ...] = ()
    for context in chain:
        if context.parent:
            path += (context.info_name or "",)
            level = level.get(path[-1])
        if level is None:
            return
        if not isinstance(level, Mapping):
            settings.refuse("KV096", f"`{path[-1]}` must be a map", configuration.locate(path))
            return
        commands = (
            context.command.list_commands(context)
            if isinstance(context.command, click.Group)
            else ()
        )
        known = {
            key: parameter
            for parameter in settable(ctx.command)
            for key in parameter.keys
            if context is ctx or (parameter.shared and not context.parent)
        }
        for key, value in level.items():
            if key in known:
                _read_key(known[key], value, configuration, (*path, key), settings)
            elif key not in commands:
                _refuse_key(context, {*known, *commands}, configuration, (*path, key), settings)


def _read_key(
    parameter: Settable,
    value: object,
    configuration: Configuration,
    path: tuple[str, ...],
    settings: Settings,
) -> None:
    """Add the setting of a key, or an error."""
    place = configuration.locate(path)
    steps: list[str | int] = [*range(len(value))] if isinstance(value, list) else []
    if isinstance(value, Mapping) and takes_map(parameter):
        steps, value = [*value], [f"{name}={text}" for name, text in value.items()]
    try:
        read = _value_of(parameter, value, configuration.folder)
    except ValueError as error:
        settings.refuse("KV096", f"`{path[-1]}` {error}", place)
        return
    wrong = False
    for step, text in zip(steps, read if steps else (), strict=True):
        try:
            parameter.type.convert(text, parameter, None)
        except click.BadParameter as error:
            wrong = True
            where = configuration.locate((*path, step))
            settings.refuse("KV096", f"`{path[-1]}`: {error.message}", where)
    if wrong:
        return
    if not configuration.named:
        checked = list(check_discovered(parameter, value, configuration, path))
        refused = [result for result in checked if isinstance(result, Diagnostic)]
        settings.outputs.extend(result for result in checked if isinstance(result, Output))
        settings.remarks.extend(refused)
        if refused:
            return
    settings.values[parameter.name or ""] = read
    settings.origins[parameter.name or ""] = place


def _value_of(parameter: Settable, value: object, folder: str) -> Any:
    """Return a value for click; raises ValueError with the expected type."""
    if is_flag(parameter):
        if isinstance(value, bool):
            return value
        raise ValueError("must be true or false")
    several = takes_several(parameter)
    values = value if isinstance(value, list) and several else [value]
    if any(isinstance(value, bool) or not isinstance(value, str | int | float) for value in values):
        expected = "a string, or a list of strings" if several else "a string or a number"
        if takes_map(parameter):
            expected = "a map of strings, or a list of strings such as `NAME=VALUE`"
        raise ValueError(f"must be {expected}")
    if any(isinstance(value, int) and abs(value) > _LARGEST for value in values):
        raise ValueError("must be a number of at most 64 bits")
    texts = tuple(str(value) for value in values)
    if isinstance(parameter.type, PathType):
        texts = tuple(parameter.type.below(folder, text) for text in texts)
    return texts if several else texts[0]


def _refuse_key(
    level: click.Context,
    known: set[str],
    configuration: Configuration,
    path: tuple[str, ...],
    settings: Settings,
) -> None:
    """Report an unknown key; at the top level, it may be an option of another command."""
    key, why = path[-1], ""
    if not level.parent:
        known |= {
            key
            for context in command_contexts(level)
            for parameter in settable(context.command)
            if parameter.shared
            for key in parameter.keys
        }
        if key in known:
            return
    else:
        options = (parameter for parameter in level.command.params if isinstance(parameter, Option))
        why = next((str(o.help) for o in options if o.hidden and f"--{key}" in o.opts), "")
    hint = f": {why}" if why else likely(key, known)
    settings.refuse("KV095", f"`{key}` is not a setting here{hint}", configuration.locate(path))


def _wrong_variables(ctx: click.Context) -> Iterator[Diagnostic]:
    """Yield diagnostics about variables of options, and similar ones."""
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
        for context in command_contexts(ctx)
        for parameter in settable(context.command)
        for name in parameter.variables(context)
    }
    for name in sorted(left.keys() - known):
        # Other variables may belong to another program.
        if hint := likely(name, known):
            text = f"no option has this environment variable{hint}"
            yield Diagnostic("KV095", Severity.WARNING, text, Location(name))


_TRUE = frozenset({"true", "t", "1"})
_FALSE = frozenset({"false", "f", "0"})
_SHORT = re.compile("-[a-zA-Z]")


class Command(click.Command):
    """A command whose parameters can be set by configurations and variables.

    With `go_spelling` it also accepts `--flag=true` and `-r=path`, like Go programs. Without
    `reads_settings` the command reads settings itself.
    """

    def __init__(
        self,
        *arguments: Any,
        go_spelling: bool = False,
        reads_settings: bool = True,
        **settings: Any,
    ) -> None:
        super().__init__(*arguments, **settings)
        if go_spelling:
            self.context_settings.update(help_option_names=["-h", "--help"], max_content_width=100)
        if not reads_settings:
            self.context_settings["auto_envvar_prefix"] = ""
        self.go_spelling = go_spelling
        # chainsaw has a different --config, like the original.
        if not any("--config" in parameter.opts for parameter in self.params):
            self.params.append(
                Option(
                    ["--config", CONFIG],
                    type=PathType(),
                    metavar="FILE",
                    expose_value=False,
                    help=CONFIG_HELP,
                )
            )
        self.params.append(NoConfig(reads_settings=reads_settings))

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options in their sections."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None and isinstance(parameter, click.Option):
                sections.setdefault(getattr(parameter, "group", ""), []).append(record)
        for title in (*SECTIONS, ""):
            if title in sections:
                with formatter.section(
                    title or ("Other options" if len(sections) > 1 else "Options")
                ):
                    formatter.write_dl(sections[title])

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse arguments, also in Go's spelling."""
        if not self.go_spelling:
            return super().parse_args(ctx, args)
        words, off = self._respelled(args)
        rest = super().parse_args(ctx, words)
        # `--flag=false` overrides a variable or a configuration that sets the flag.
        for name in off:
            given = ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE
            if name in ctx.params and not given:
                ctx.params[name] = False
                ctx.set_parameter_source(name, ParameterSource.COMMANDLINE)
        return rest

    def _respelled(self, args: list[str]) -> tuple[list[str], set[str]]:
        """Return the words before `--` in click's syntax, and the flags that are set to false."""
        flags = {
            name: parameter.name
            for parameter in self.params
            if isinstance(parameter, click.Option) and parameter.is_flag and parameter.name
            for name in parameter.opts
        }
        end = args.index("--") if "--" in args else len(args)
        words: list[str] = []
        off: set[str] = set()
        for word in args[:end]:
            name, equals, value = word.partition("=")
            if name in flags and value.lower() in _TRUE:
                words.append(name)
            elif name in flags and value.lower() in _FALSE:
                off.add(flags[name])
            elif equals and _SHORT.fullmatch(name) and name not in flags:
                words += [name, value]
            else:
                words.append(word)
        return [*words, *args[end:]], off


class Group(click.Group):
    """A group of such commands."""

    command_class = Command


@contextlib.contextmanager
def of_extra(extra: str) -> Iterator[None]:
    """Raise ClickException if imports in the block need the packages of an extra."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("kyvsim"):
            raise
        text = f"this needs the package {error.name}: pip install 'kyvsim[{extra}]'"
        raise click.ClickException(text) from None
