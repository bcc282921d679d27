"""Options and arguments of click, with properties for configurations."""

import os
import re
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem
from click.types import StringParamType

from kyvsim.model.source import Location

Options: TypeAlias = Mapping[str, Any]
"""The parameters of a command by name."""
Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]
TRUE = ("true", "t", "1", "yes", "on")
FALSE = ("false", "f", "0", "no", "off", "")
"""Values of variables for flags."""


class Effect(Enum):
    """The effect of an option.

    A discovered configuration is controlled by the author of the folder. It may choose inputs and
    how results are shown; not where to write, what to run or where to connect (`command.py`).
    """

    NONE = "none"
    """Affects inputs, evaluation, or how results are shown."""
    WRITES_FILE = "writes a file"
    """The path of one file; `FORMAT` without `=FILE` goes to standard output."""
    WRITES_OBJECTS = "writes files"
    """A file, or a folder for files whose names end in `-mutated.yaml` or `-generated.yaml`."""
    WRITES_NEW = "writes new files"
    """A folder; the command does not replace files in it."""
    OVERWRITES = "overwrites files"
    """Whether existing files are replaced."""
    RUNS = "runs a program"
    CONNECTS = "connects"


class LineSettings(NamedTuple):
    """The object of a click context: settings from outside of the command line."""

    config: str | None = None
    """The configuration in the command line; "" to use none, None if it is not set."""
    origins: Mapping[str, Location] = MappingProxyType({})
    """Positions in the configuration, by parameter."""


class _Settable(click.Parameter):
    """A parameter that configurations and variables can set.

    With `shared`, one key of the configuration sets it for all commands.
    """

    def __init__(
        self, *arguments: Any, effect: Effect = Effect.RUNS, shared: bool = False, **settings: Any
    ) -> None:
        super().__init__(*arguments, **settings)
        self.effect = effect
        self.shared = shared

    @property
    def keys(self) -> tuple[str, ...]:
        """Its keys in a configuration; empty if it cannot be set there."""
        raise NotImplementedError

    def variables(self, ctx: click.Context) -> tuple[str, ...]:
        """Return its variables in a context, in order of precedence."""
        own, general = ctx.auto_envvar_prefix, ctx.find_root().auto_envvar_prefix
        if not own:
            return ()
        names = [key.replace("-", "_").upper() for key in reversed(self.keys)]
        prefixes = (own, general) if self.shared else (own,)
        return tuple(f"{prefix}_{name}" for prefix in prefixes for name in names)

    def variable(self, ctx: click.Context) -> str | None:
        """Return the variable that sets it, or None."""
        return next((name for name in self.variables(ctx) if name in os.environ), None)

    def value_from_envvar(self, ctx: click.Context) -> Any:
        """Return the value of its variable, or None.

        Unlike in click, an empty variable counts, spaces do not separate values, and several
        variables can set one parameter.
        """
        variable = self.variable(ctx)
        if variable is None:
            return None
        value = os.environ[variable]
        if is_flag(self):
            return value.lower() in TRUE
        return (value,) if takes_several(self) else value


INPUT = "Input"
REQUEST = "Request"
EVALUATION = "Evaluation"
OUTPUT = "Output"
STATUS = "Exit status"
PERFORMANCE = "Performance"
DISTRIBUTED = "Distributed runs"
COVERAGE = "Coverage and mutation testing"
SECTIONS = (INPUT, REQUEST, EVALUATION, OUTPUT, STATUS, COVERAGE, PERFORMANCE, DISTRIBUTED)
"""The sections of options in the help, in order."""


class Option(_Settable, click.Option):
    """An option; its long names are its keys in a configuration.

    `group` is its section in the help, which omits `old_names`.
    """

    def __init__(
        self, *arguments: Any, group: str = "", old_names: tuple[str, ...] = (), **settings: Any
    ) -> None:
        super().__init__(*arguments, **settings)
        self.group = group
        self.old_names = old_names

    @property
    def keys(self) -> tuple[str, ...]:
        """Its keys in a configuration; empty if it cannot be set there."""
        if not self.expose_value:
            return ()
        return tuple(name[2:] for name in self.opts if name.startswith("--"))

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return the names and the help, without aliases."""
        record = super().get_help_record(ctx)
        if record is None:
            return None
        names, text = record
        for alias in [name for name in self.opts if name.startswith("--")][1:]:
            names = re.sub(rf", {alias}(?![\w-])", "", names)
        for name in self.old_names:
            names = names.replace(f"{name}, ", "")
        return names, text


class Argument(_Settable, click.Argument):
    """An argument; `key` is its name in a configuration."""

    def __init__(self, *arguments: Any, key: str = "", **settings: Any) -> None:
        super().__init__(*arguments, effect=Effect.NONE, **settings)
        self.key = key

    @property
    def keys(self) -> tuple[str, ...]:
        """Its keys in a configuration; empty if it cannot be set there."""
        return (self.key,) if self.key else ()


class PathType(StringParamType):
    """A path, which is relative to the folder of a configuration.

    `separator` is between a word and the path, as in FORMAT=FILE; `words` are values that are not
    paths; `offered` are words for completion; `is_written` marks outputs.
    """

    name = "path"

    def __init__(
        self,
        *,
        separator: str = "",
        words: tuple[str, ...] = ("-",),
        offered: Iterable[str] = (),
        is_written: bool = False,
    ) -> None:
        self.separator = separator
        self.words = words
        self.offered = tuple(offered)
        self.is_written = is_written

    def split(self, value: str) -> tuple[str, str]:
        """Return the word before the path in a value, and the path, or ""."""
        if not self.separator:
            return "", value
        word, separator, path = value.partition(self.separator)
        return f"{word}{separator}", path

    def below(self, folder: str, value: str) -> str:
        """Return a value with its path joined to a folder."""
        word, path = self.split(value)
        if not folder or path in {"", *self.words} or "://" in path:
            return value
        return f"{word}{os.path.join(folder, path)}"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Return the completions of its first word, or complete file names."""
        del ctx, param
        if not self.offered:
            return [CompletionItem(incomplete, type="file")]
        return [CompletionItem(word) for word in self.offered if word.startswith(incomplete)]


class ValueUsageError(click.BadParameter):
    """An invalid value; the message begins with the option, as in `--budget x: not N`."""

    def format_message(self) -> str:
        """Return the message without click's prefix."""
        return self.message


def bad_value(ctx: click.Context, spelled: str, text: str) -> ValueUsageError:
    """Return the error about a value of an option; `text` is the value and the reason."""
    parameter = next(
        (parameter for parameter in ctx.command.params if spelled in parameter.opts), None
    )
    return ValueUsageError(f"{spelled} {text}", ctx, parameter)


Settable = Option | Argument


def option(*names: str, effect: Effect, **settings: Any) -> Decorator:
    """Return click's decorator for an option with an effect."""
    return click.option(*names, cls=Option, effect=effect, **settings)


safe_option = partial(click.option, cls=Option, effect=Effect.NONE)
"""The decorator for an option that discovered configurations may set."""
flag_option = partial(safe_option, is_flag=True)


def argument(*names: str, **settings: Any) -> Decorator:
    """Return click's decorator for an argument."""
    return click.argument(*names, cls=Argument, **settings)


def offering(names: Callable[[click.Context], Iterable[str]]) -> Callable[..., list[str]]:
    """Return a `shell_complete` function for some values, which are computed on demand."""

    def complete(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
        return [name for name in names(ctx) if name.startswith(incomplete)]

    return complete


def combined(*decorators: Decorator) -> Decorator:
    """Return a decorator that applies several, in their order."""

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return add


def is_flag(parameter: click.Parameter) -> bool:
    """Return whether a parameter is a flag."""
    return isinstance(parameter, click.Option) and parameter.is_flag


def takes_several(parameter: click.Parameter) -> bool:
    """Return whether a parameter may have several values."""
    return parameter.multiple or parameter.nargs == -1


def takes_map(parameter: click.Parameter) -> bool:
    """Return whether the values of a parameter are NAME=VALUE, so that they may be a map."""
    is_path = isinstance(parameter.type, PathType)
    return parameter.multiple and "=" in (parameter.metavar or "") and not is_path


def settable(command: click.Command) -> list[Settable]:
    """Return the parameters of a command that a configuration may set."""
    return [one for one in command.params if isinstance(one, Settable) and one.keys]


def origin_of(ctx: click.Context, parameter: click.Parameter | None) -> Location | None:
    """Return where a parameter is set outside of the command line, or None."""
    if not isinstance(parameter, Settable):
        return None
    source = ctx.get_parameter_source(parameter.name or "")
    if source is ParameterSource.ENVIRONMENT:
        return Location(parameter.variable(ctx) or "")
    if source is ParameterSource.DEFAULT_MAP:
        origins: Mapping[str, Location] = ctx.obj.origins
        return origins.get(parameter.name or "")
    return None


def settings_outside_line(ctx: click.Context) -> str:
    """Return the options that are set outside of the command line, with positions, or ""."""
    parameters = ((parameter, origin_of(ctx, parameter)) for parameter in settable(ctx.command))
    return ", ".join(
        f"{'--' if isinstance(parameter, Option) else ''}{parameter.keys[0]} ({place})"
        for parameter, place in parameters
        if place
    )
