"""Arguments that are plain to see, read without click."""

from collections.abc import Collection, Mapping, Sequence

from kyvsim.cli.declared import (
    NOWHERE_ELSE,
    UNSET,
    BadValueError,
    Call,
    Choice,
    Command,
    IntRange,
    Parameter,
    PathText,
    Setting,
    UsageError,
)
from kyvsim.light.named_tuple import NamedTuple
from kyvsim.light.regex import DOTALL, IGNORECASE, regex
from kyvsim.light.typed import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kyvsim.model.source import Location

_PLAIN = frozenset(
    {"callback", "default", "expose_value", "help", "is_flag", "metavar", "multiple"}
    | {"show_default", "type"}
)
"""Settings of options whose values are read here."""

YES = ("true", "t", "1", "yes", "on")
NO = ("false", "f", "0", "no", "off", "")
"""How a flag is set or not, where that is said in a word."""
_BOOLEAN = regex(r"(--[a-z-]+|-[a-zA-Z])=(true|t|1|false|f|0)", IGNORECASE)
_SHORT_VALUE = regex(r"(-[a-zA-Z])=(.*)", DOTALL)


class _Odd(Exception):  # noqa: N818 — no fault: click knows what to say of it
    """Arguments of which click is asked."""


class Read(NamedTuple):
    """What a command is given."""

    values: dict[str, Any]
    """By the names of parameters."""
    origins: "Mapping[str, Location]"
    """Where some of them are set outside of the line."""


class _Given(NamedTuple):
    """What stands on a command line."""

    options: dict[str, list[str]]
    """The values of each option that is given, by the option's name."""
    arguments: tuple[str, ...]
    origins: "Mapping[str, Location]" = NOWHERE_ELSE
    """Where some options are set outside of it."""


def read_plainly(
    call: Call, words: Sequence[str], settings: Mapping[str, Setting] = UNSET
) -> Read | None:
    """Return what click would give a command for such words; None where click is to be asked.

    That is where anything is wrong with them, or may be. Settings count where the words say
    nothing.
    """
    command = call.command
    try:
        given = _with_settings(command, _sorted(command, respelled(command, words)), settings)
        values = {
            one.name: _value(one, given, call)
            for one in command.parameters
            if one.settings.get("expose_value", True)
        }
        return Read(values, given.origins)
    except (_Odd, UsageError, BadValueError):
        return None


def respelled(command: Command, words: Sequence[str]) -> list[str]:
    """Return the words in click's spelling; what follows `--` stays."""
    if not command.spelled_as_in_go:
        return [*words]
    bare = {name for one in command.parameters if is_flag(one) for name in one.spellings}
    end = words.index("--") if "--" in words else len(words)
    found = [part for word in words[:end] for part in _respelled(word, bare)]
    return [*found, *words[end:]]


def _respelled(word: str, bare: Collection[str]) -> Sequence[str]:
    if "=" not in word:
        return (word,)
    boolean = _BOOLEAN.fullmatch(word)
    if boolean and boolean[1] in bare:
        return (boolean[1],) if boolean[2].lower() in {"true", "t", "1"} else ()
    short = _SHORT_VALUE.fullmatch(word)
    return (short[1], short[2]) if short and short[1] not in bare else (word,)


def is_yes(word: str) -> bool:
    """Return whether a word sets a flag."""
    return word.lower() in YES


def is_flag(parameter: Parameter) -> bool:
    """Return whether a parameter holds or not, without a value."""
    return bool(parameter.settings.get("is_flag"))


def _sorted(command: Command, words: Sequence[str]) -> _Given:
    known = {
        name: one
        for one in command.parameters
        if one.is_option and one.settings.keys() <= _PLAIN
        for name in one.spellings
    }
    found = _Given({}, ())
    arguments: list[str] = []
    rest = iter(words)
    for word in rest:
        if word == "-" or not word.startswith("-"):
            arguments.append(word)
            continue
        name, equals, value = word.partition("=") if word.startswith("--") else (word, "", "")
        option = known.get(name)
        if option is None or (equals and is_flag(option)):
            raise _Odd
        if not equals and not is_flag(option):
            value = next(rest, "--")
            if value.startswith("-") and value != "-":
                raise _Odd
        found.options.setdefault(option.name, []).append(value)
    if arguments and all(one.is_option for one in command.parameters):
        raise _Odd
    return found._replace(arguments=tuple(arguments))


def _with_settings(command: Command, given: _Given, settings: Mapping[str, Setting]) -> _Given:
    """Return what is given on a line, and for what is not what is set."""
    if not settings:
        return given
    known = {one.name: one for one in command.parameters}
    arguments = given.arguments
    origins: dict[str, Location] = {}
    for name, (words, origin) in settings.items():
        if not known[name].is_option:
            arguments = arguments or words
            continue
        if known[name].settings.keys() - _PLAIN:
            raise _Odd
        if name in given.options:
            continue
        origins[name] = origin
        if not is_flag(known[name]):
            given.options[name] = [*words]
        elif is_yes(words[0]):
            given.options[name] = []
    return _Given(given.options, arguments, origins)


def _value(parameter: Parameter, given: _Given, call: Call) -> Any:
    """Return the value of a parameter, or what it has where it is not given."""
    settings = parameter.settings
    if not parameter.is_option:
        return _argument(parameter, given, call.command)
    words = given.options.get(parameter.name)
    value: Any
    if is_flag(parameter):
        value = words is not None
    elif settings.get("multiple"):
        value = tuple(words or ())
    else:
        value = (
            settings.get("default") if words is None else _typed(words[-1], settings.get("type"))
        )
    callback = settings.get("callback")
    return callback(call, parameter.spellings[-1], value) if callback else value


def _argument(parameter: Parameter, given: _Given, command: Command) -> Any:
    """Return the value of an argument: all that there are, or the one that stands at its place."""
    settings, found = parameter.settings, given.arguments
    if settings.get("nargs") == -1:
        if settings.get("required") and not found:
            raise _Odd
        return found
    every = [one for one in command.parameters if not one.is_option]
    if settings.keys() - {"metavar", "type"} or any("nargs" in one.settings for one in every):
        raise _Odd
    if len(found) != len(every):
        raise _Odd
    return found[every.index(parameter)]


def _typed(word: str, kind: Choice | IntRange | PathText | None) -> str | int:
    if kind is None or isinstance(kind, PathText):
        return word
    if isinstance(kind, Choice):
        if word in kind.words:
            return word
        raise _Odd
    if not (word.isascii() and word.isdecimal()) or len(word) > 18:
        raise _Odd
    number = int(word)
    if (kind.least is not None and number < kind.least) or (
        kind.most is not None and number > kind.most
    ):
        raise _Odd
    return number
