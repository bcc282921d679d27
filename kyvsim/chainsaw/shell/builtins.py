"""Commands that a shell has built in, with the conditions of `test` and `[`."""

import re
from collections.abc import Callable
from typing import NamedTuple, Protocol

from kyvsim.chainsaw.environment import Result
from kyvsim.chainsaw.errors import UnsupportedError

# What `test` and `[ … ]` evaluate.
#
# Source of the rules: POSIX, Utilities, test.

_NUMBERS = ("-eq", "-ne", "-gt", "-ge", "-lt", "-le")
_INTEGER = re.compile(r"[ \t\n]*[+-]?[0-9]{1,18}[ \t\n]*")
_MOST_WORDS = 64
"""More words than anybody writes: every `!`, `-a` and `-o` is a level of recursion."""


class TestExpressionError(Exception):
    """A condition that is wrong; the text says how."""


def holds(words: tuple[str, ...]) -> bool:
    """Return whether a condition holds.

    Raises ConditionError for one that is wrong, and UnsupportedError for what is not understood.
    """
    if len(words) > _MOST_WORDS:
        raise UnsupportedError(f"a condition of more than {_MOST_WORDS} words")
    for joint, all_of in (("-o", False), ("-a", True)):
        if joint in words[1:-1] and len(words) > 3:
            place = words.index(joint, 1)
            sides = (holds(words[:place]), holds(words[place + 1 :]))
            return all(sides) if all_of else any(sides)
    if len(words) == 3 and words[1] == "==":
        raise UnsupportedError("`==` in a condition, which dash refuses and bash reads as `=`")
    if len(words) == 3 and (words[1] in {"=", "!="} or words[1] in _NUMBERS):
        return _two(*words)
    if len(words) > 1 and words[0] == "!":
        return not holds(words[1:])
    if len(words) < 2:
        return bool(words and words[0])
    if len(words) == 2:
        return _one(*words)
    raise _unknown(words)


def _one(operator: str, word: str) -> bool:
    if operator == "-n":
        return bool(word)
    if operator == "-z":
        return not word
    raise _unknown((operator, word))


def _two(first: str, operator: str, second: str) -> bool:
    if operator == "=":
        return first == second
    if operator == "!=":
        return first != second
    one, other = _integer(first), _integer(second)
    order = (one > other) - (one < other)
    return {
        "-eq": order == 0,
        "-ne": order != 0,
        "-gt": order > 0,
        "-ge": order >= 0,
        "-lt": order < 0,
        "-le": order <= 0,
    }[operator]


def _integer(text: str) -> int:
    if not _INTEGER.fullmatch(text):
        raise TestExpressionError(f"Illegal number: {text}")
    return int(text)


def _unknown(words: tuple[str, ...]) -> UnsupportedError:
    return UnsupportedError(f"the condition `[ {' '.join(words)} ]`")


# Commands that change the shell itself; `BUILTINS` lists them.
#
# Their errors are those of dash, which ends a script where one of these fails. Source of the
# rules: POSIX, Shell Command Language, 2.14.

_FLAGS = (("e", "errexit"), ("u", "nounset"), ("x", "xtrace"), ("o", ""))
_OPTIONS = frozenset({"errexit", "nounset", "pipefail", "xtrace"})
_DIGITS = re.compile(r"[0-9]{1,9}")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class State(Protocol):
    """What built-in commands change."""

    variables: dict[str, str]
    exported: set[str]
    options: set[str]
    arguments: tuple[str, ...]
    status: int
    loops: int


class ExitError(Exception):
    """The end of a script before its last command."""

    def __init__(self, status: int, message: str = "") -> None:
        super().__init__(str(status))
        self.status = status
        self.message = message
        """What the shell prints to standard error before."""


class LeftLoopError(Exception):
    """The end of a turn of a loop, and of the loop unless it goes on."""

    def __init__(self, levels: int, *, again: bool) -> None:
        super().__init__()
        self.levels = levels
        """How many loops are left, the innermost included."""
        self.again = again


class Builtin(NamedTuple):
    """A command of the shell's own."""

    name: str
    run: Callable[[State, tuple[str, ...]], Result]


def _count(name: str, arguments: tuple[str, ...], default: int) -> int:
    """Return the number that a command is given; raise ExitError for what is none."""
    if not arguments:
        return default
    if not _DIGITS.fullmatch(arguments[0]):
        raise ExitError(2, f"sh: {name}: Illegal number: {arguments[0]}\n")
    return int(arguments[0])


def _exit(state: State, arguments: tuple[str, ...]) -> Result:
    raise ExitError(_count("exit", arguments, state.status) % 256)


def _leave(name: str, state: State, arguments: tuple[str, ...], *, again: bool) -> Result:
    levels = _count(name, arguments, 1)
    if levels < 1:
        raise ExitError(2, f"sh: {name}: Illegal number: {arguments[0]}\n")
    if not state.loops:
        return Result()
    state.status = 0
    raise LeftLoopError(min(levels, state.loops), again=again)


def _break(state: State, arguments: tuple[str, ...]) -> Result:
    return _leave("break", state, arguments, again=False)


def _continue(state: State, arguments: tuple[str, ...]) -> Result:
    return _leave("continue", state, arguments, again=True)


def _require_name(command: str, name: str) -> None:
    if name.startswith("-"):
        raise UnsupportedError(f"`{command} {name}`")
    if not _NAME.fullmatch(name):
        raise ExitError(2, f"sh: {command}: {name}: bad variable name\n")


def _export(state: State, arguments: tuple[str, ...]) -> Result:
    if not arguments:
        raise UnsupportedError("`export` without a name")
    for one in arguments:
        name, assigned, value = one.partition("=")
        _require_name("export", name)
        state.exported.add(name)
        if assigned:
            state.variables[name] = value
    return Result()


def _set(state: State, arguments: tuple[str, ...]) -> Result:
    if not arguments:
        raise UnsupportedError("`set` without an option")
    before = ""
    for one in arguments:
        letters = set(one[1:])
        if one in _OPTIONS and before.endswith("o") and before[:1] in {"-", "+"}:
            _switch(state, {one}, on=before.startswith("-"))
        elif one[:1] in {"-", "+"} and letters and letters <= {flag for flag, _ in _FLAGS}:
            wanted = {option for flag, option in _FLAGS if flag in one and option}
            _switch(state, wanted, on=one.startswith("-"))
        else:
            raise UnsupportedError(f"`set {one}`")
        before = one
    return Result()


def _switch(state: State, options: set[str], *, on: bool) -> None:
    state.options = state.options | options if on else state.options - options


def _unset(state: State, arguments: tuple[str, ...]) -> Result:
    for name in arguments:
        _require_name("unset", name)
        state.variables.pop(name, None)
        state.exported.discard(name)
    return Result()


def _shift(state: State, arguments: tuple[str, ...]) -> Result:
    count = _count("shift", arguments, 1)
    if count > len(state.arguments):
        raise ExitError(2, "sh: shift: can't shift that many\n")
    state.arguments = state.arguments[count:]
    return Result()


BUILTINS: tuple[Builtin, ...] = (
    Builtin("exit", _exit),
    Builtin("break", _break),
    Builtin("continue", _continue),
    Builtin("export", _export),
    Builtin("set", _set),
    Builtin("unset", _unset),
    Builtin("shift", _shift),
)
"""Every command that changes the shell."""
