"""Commands that change the shell itself; `BUILTINS` lists them.

Their errors are those of dash, which ends a script where one of these fails.
Source of the rules: POSIX, Shell Command Language, 2.14.
"""

import re
from collections.abc import Callable
from typing import NamedTuple, Protocol

from kyvsim.chainsaw.ending import UnsupportedError
from kyvsim.chainsaw.streams import Result

_FLAGS = (("e", "errexit"), ("u", "nounset"), ("x", "xtrace"), ("o", ""))
_OPTIONS = frozenset({"errexit", "nounset", "pipefail", "xtrace"})
_NUMBER = re.compile(r"[0-9]{1,9}")
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


def _number(name: str, arguments: tuple[str, ...], default: int) -> int:
    """Return the number that a command is given; raise ExitError for what is none."""
    if not arguments:
        return default
    if not _NUMBER.fullmatch(arguments[0]):
        raise ExitError(2, f"sh: {name}: Illegal number: {arguments[0]}\n")
    return int(arguments[0])


def _exit(state: State, arguments: tuple[str, ...]) -> Result:
    raise ExitError(_number("exit", arguments, state.status) % 256)


def _leave(name: str, state: State, arguments: tuple[str, ...], *, again: bool) -> Result:
    levels = _number(name, arguments, 1)
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
    count = _number("shift", arguments, 1)
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
