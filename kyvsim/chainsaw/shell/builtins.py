"""Commands that change the shell itself; `BUILTINS` lists them."""

from collections.abc import Callable

from kyvsim.chainsaw.ending import UnsupportedError
from kyvsim.chainsaw.streams import Result
from kyvsim.light.named_tuple import NamedTuple
from kyvsim.light.typed import Protocol

_FLAGS = (("e", "errexit"), ("u", "nounset"), ("x", ""), ("o", ""))
_OPTIONS = frozenset({"errexit", "nounset", "pipefail", "xtrace"})


class State(Protocol):
    """What built-in commands change."""

    variables: dict[str, str]
    options: set[str]
    arguments: tuple[str, ...]
    status: int


class ExitError(Exception):
    """The end of a script before its last command."""

    def __init__(self, status: int) -> None:
        super().__init__(str(status))
        self.status = status


class LeftLoopError(Exception):
    """The end of a turn of a loop, and of the loop unless it goes on."""

    def __init__(self, *, again: bool) -> None:
        super().__init__()
        self.again = again


class Builtin(NamedTuple):
    """A command of the shell's own."""

    name: str
    run: Callable[[State, tuple[str, ...]], Result]


def _exit(state: State, arguments: tuple[str, ...]) -> Result:
    raise ExitError(int(arguments[0]) % 256 if arguments else state.status)


def _break(state: State, arguments: tuple[str, ...]) -> Result:
    del state, arguments
    raise LeftLoopError(again=False)


def _continue(state: State, arguments: tuple[str, ...]) -> Result:
    del state, arguments
    raise LeftLoopError(again=True)


def _export(state: State, arguments: tuple[str, ...]) -> Result:
    for one in arguments:
        name, assigned, value = one.partition("=")
        if assigned:
            state.variables[name] = value
    return Result()


def _set(state: State, arguments: tuple[str, ...]) -> Result:
    for place, one in enumerate(arguments):
        if one in _OPTIONS and arguments[place - 1].endswith("o"):
            state.options.add(one)
        elif one.startswith("-") and not set(one[1:]) - {flag for flag, _ in _FLAGS}:
            state.options |= {option for flag, option in _FLAGS if flag in one and option}
        elif one.startswith("+") and not set(one[1:]) - {flag for flag, _ in _FLAGS}:
            state.options -= {option for flag, option in _FLAGS if flag in one}
        else:
            raise UnsupportedError(f"`set {one}`")
    return Result()


def _unset(state: State, arguments: tuple[str, ...]) -> Result:
    for name in arguments:
        state.variables.pop(name, None)
    return Result()


def _shift(state: State, arguments: tuple[str, ...]) -> Result:
    state.arguments = state.arguments[int(arguments[0]) if arguments else 1 :]
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
