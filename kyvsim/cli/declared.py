"""What commands take, as data: their names and options in click's words.

`by_click.py` makes click commands of it; settings and variables are checked against it.
"""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

if TYPE_CHECKING:
    from kyvsim.model.diagnostic import Diagnostic
    from kyvsim.model.source import Location

AnyFunction: TypeAlias = Callable[..., Any]
Decorator: TypeAlias = Callable[[AnyFunction], AnyFunction]
_Function = TypeVar("_Function", bound=AnyFunction)


class CommandError(Exception):
    """A command cannot go on; the text says why."""


class UsageError(CommandError):
    """A command is asked for what it cannot do: its help, by the call, says what it can."""

    def __init__(self, message: str, call: "Call | None" = None) -> None:
        super().__init__(message)
        self.call = call


class BadValueError(Exception):
    """The callback of an option cannot read its value; the text says why."""


class Choice(NamedTuple):
    """The type of an option that takes one of some words."""

    words: tuple[str, ...]
    case_sensitive: bool = True


class IntRange(NamedTuple):
    """The type of an option that takes a whole number."""

    least: int | None = None
    most: int | None = None


class PathText(NamedTuple):
    """The type of an option or argument whose values are paths."""

    behind: str = ""
    """What stands between a word and the path, where a value may have both."""
    words: tuple[str, ...] = ("-",)
    """Values that are no paths."""
    is_written: bool = False
    """Whether they are where something goes."""
    before: tuple[str, ...] = ()
    """The words before a path, or without one, that shells offer."""


class Named(NamedTuple):
    """The type of an argument whose values have names that shells offer; others are errors."""

    names: Callable[[], Iterable[str]]
    """Gives them when somebody asks: to know them may take long."""


class Parameter(NamedTuple):
    """An option or an argument of a command."""

    names: tuple[str, ...]
    """How it is spelled, and what its value is called where that does not follow from it."""
    settings: Mapping[str, Any]
    """What else click is told of it. A callback takes the call, the last spelling and the value."""
    is_option: bool
    key: str = ""
    """What an argument is called in a configuration; options are called as they are spelled."""
    shared: bool = False
    """Whether a configuration may set it for all commands that have it at once."""

    @property
    def spellings(self) -> tuple[str, ...]:
        """How an option is spelled."""
        return tuple(name for name in self.names if name.startswith("-"))

    @property
    def keys(self) -> tuple[str, ...]:
        """What it is called in a configuration: nothing where it cannot be set there."""
        if self.settings.get("hidden") or not self.settings.get("expose_value", True):
            return ()
        long = tuple(name[2:] for name in self.spellings if name.startswith("--"))
        return long or ((self.key,) if self.key else ())

    @property
    def name(self) -> str:
        """What the value is called: the first long spelling says it where nothing else does."""
        own = (name for name in self.names if not name.startswith("-"))
        first = next((name for name in self.spellings if name.startswith("--")), self.names[0])
        return next(own, first.lstrip("-").replace("-", "_").lower())


class Output(NamedTuple):
    """A path below the folder of a configuration that is written because that says so."""

    folder: str
    """The real path of the folder of the configuration."""
    place: str
    """The real path of what is written: one file, or a folder for files."""


class Setting(NamedTuple):
    """What a parameter is set to outside of a line, in words as they would stand on one."""

    words: tuple[str, ...]
    origin: "Location"
    """A place in a file, or the name of a variable."""


YES = ("true", "t", "1", "yes", "on")
NO = ("false", "f", "0", "no", "off", "")
"""How a flag is set or not, where that is said in a word."""
COMPLETION = "_KYVSIM_COMPLETE"
"""The variable by which a shell asks click how a word may go on."""
PREFIX = "KYVSIM_"
"""How variables begin that set parameters."""
UNSET: Mapping[str, Setting] = MappingProxyType({})
"""No settings."""
NOWHERE_ELSE: "Mapping[str, Location]" = MappingProxyType({})
"""All that is set stands on the line."""


class Settled(NamedTuple):
    """What is set for a command outside of its line."""

    settings: Mapping[str, Setting] = UNSET
    """By the names of parameters."""
    remarks: "tuple[Diagnostic, ...]" = ()
    config: str | None = None
    """The configuration that the line names; "" for none, None where it does not say."""
    outputs: "tuple[Output, ...]" = ()
    """What a configuration that nobody named has written."""


class Command(NamedTuple):
    """A command: what it takes, and what it does."""

    run: AnyFunction
    """Takes the values by name, after the call where it asks for that; returns the exit status."""
    parameters: tuple[Parameter, ...]
    help: str
    epilog: str | None = None
    short_help: str | None = None
    spelled_as_in_go: bool = False
    """Whether it takes `--flag=true` and `-r=path` as well, as Go programs do."""
    takes_call: bool = False
    settles_itself: bool = False
    """Whether it asks for what is set outside of its line, and goes on where that is wrong."""


class Call(NamedTuple):
    """A command as somebody calls it."""

    path: str
    """The words that lead to it, as `kyvsim apply`."""
    command: Command
    origins: "Mapping[str, Location]" = NOWHERE_ELSE
    """Where parameters are set outside of the line, by their names."""
    config: str | None = None
    """The configuration that the line names; "" for none, None where it does not say."""

    def wrong(self, spelled: str, told: str) -> UsageError:
        """Return the error that an option has a wrong value, with the place that sets it.

        `told` is the value, and why it is wrong.
        """
        text = f"{spelled} {told}"
        names = (one.name for one in self.command.parameters if spelled in one.spellings)
        origin = self.origins.get(next(names, ""))
        alone = self._replace(origins=NOWHERE_ELSE)  # what else is set has no part in it
        return UsageError(f"{origin}: {text}" if origin else text, alone)

    def elsewhere(self) -> str:
        """Return which options are set outside of the line, and where: "" for none."""
        known = {one.name: one for one in self.command.parameters}
        dashes = {name: "--" if one.is_option else "" for name, one in known.items()}
        return ", ".join(
            f"{dashes[name]}{known[name].keys[0]} ({place})" for name, place in self.origins.items()
        )

    def run(self, values: Mapping[str, Any]) -> Any:
        """Run the command with the values of its parameters, and return what it returns."""
        try:
            return self.command.run(*((self,) if self.command.takes_call else ()), **values)
        except UsageError as error:
            error.call = error.call or self
            raise


class Group:
    """A command of commands."""

    __slots__ = ("commands", "help", "width")

    def __init__(self, text: str, width: int | None) -> None:
        self.help = text
        self.width = width
        self.commands: dict[str, Command] = {}

    def command(
        self, name: str | None = None, short_help: str | None = None
    ) -> Callable[[AnyFunction], Command]:
        """Return what makes a function one of the commands, called as the function or `name`."""

        def add(function: AnyFunction) -> Command:
            made = command(short_help=short_help)(function)
            self.commands[name or function.__name__] = made
            return made

        return add


CONFIG = "config_file"
"""The name of the option that names a configuration."""
NO_CONFIG = "no_config"
CONFIG_OPTIONS = (
    Parameter(
        ("--config", CONFIG),
        {
            "type": PathText(),
            "metavar": "FILE",
            "expose_value": False,
            "help": "Read settings from this file instead of a discovered .kyvsim.yaml.",
        },
        is_option=True,
    ),
    Parameter(
        ("--no-config", NO_CONFIG),
        {"is_flag": True, "expose_value": False, "help": "Do not read a configuration file."},
        is_option=True,
    ),
)
"""Options of every command; `settled.py` reads them before all others."""


def group(width: int | None = None) -> Callable[[AnyFunction], Group]:
    """Return what makes a group of a function, whose docstring is its help of at most `width`."""
    return lambda function: Group(function.__doc__ or "", width)


def command(
    help: str | None = None,  # noqa: A002 — click's word
    epilog: str | None = None,
    short_help: str | None = None,
    *,
    spelled_as_in_go: bool = False,
    settles_itself: bool = False,
) -> Callable[[AnyFunction], Command]:
    """Return what makes a command of a function and of what decorates it."""

    def make(function: AnyFunction) -> Command:
        declared = vars(function)
        own = tuple(reversed(declared.get("parameters", ())))
        spelled = {name for one in own for name in one.spellings}
        return Command(
            run=function,
            # chainsaw has a --config of its own, as the reference has.
            parameters=(*own, *(one for one in CONFIG_OPTIONS if one.names[0] not in spelled)),
            help=help or function.__doc__ or "",
            epilog=epilog,
            short_help=short_help,
            spelled_as_in_go=spelled_as_in_go,
            takes_call="takes_call" in declared,
            settles_itself=settles_itself,
        )

    return make


def argument(*names: str, key: str = "", **settings: Any) -> Decorator:
    """Return what gives a command arguments; settings are those of click's."""
    return _adding(Parameter(names, settings, is_option=False, key=key))


def option(*names: str, **settings: Any) -> Decorator:
    """Return what gives a command an option; settings are those of click's."""
    return _adding(Parameter(names, settings, is_option=True))


def options(*decorators: Decorator) -> Decorator:
    """Return what adds the options that some decorators add, in their order."""

    def add(function: AnyFunction) -> AnyFunction:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return add


def shared(decorator: Decorator) -> Decorator:
    """Return what adds the same, as parameters that are set for all commands that have them."""

    def add(function: AnyFunction) -> AnyFunction:
        before = len(vars(function).get("parameters", ()))
        function = decorator(function)
        added: list[Parameter] = vars(function)["parameters"]
        added[before:] = [one._replace(shared=True) for one in added[before:]]
        return function

    return add


def pass_call(function: _Function) -> _Function:
    """Have a command's function take the call before all else."""
    vars(function)["takes_call"] = True
    return function


def _adding(parameter: Parameter) -> Decorator:
    def add(function: AnyFunction) -> AnyFunction:
        vars(function).setdefault("parameters", []).append(parameter)
        return function

    return add


def is_yes(word: str) -> bool:
    """Return whether a word sets a flag."""
    return word.lower() in YES


def is_flag(parameter: Parameter) -> bool:
    """Return whether a parameter holds or not, without a value."""
    return bool(parameter.settings.get("is_flag"))
