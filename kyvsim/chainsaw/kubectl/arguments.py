"""kubectl's arguments: words, and flags by their long names.

Source of the names: kubectl's own help.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from kyvsim.chainsaw.ending import UnsupportedError

_BARE = frozenset(
    {
        "all",
        "all-namespaces",
        "cascade",
        "command",
        "dry-run",
        "force",
        "ignore-not-found",
        "list",
        "no-headers",
        "now",
        "overwrite",
        "quiet",
        "recursive",
        "server-side",
        "stdin",
        "tty",
        "wait",
    }
)
"""Flags that take no value, or one after `=`."""
_VALUED = frozenset(
    {
        "annotations",
        "as",
        "as-group",
        "as-uid",
        "clusterrole",
        "container",
        "context",
        "env",
        "field-manager",
        "filename",
        "for",
        "from-literal",
        "grace-period",
        "group",
        "image",
        "kubeconfig",
        "labels",
        "namespace",
        "output",
        "patch",
        "patch-file",
        "port",
        "profile",
        "replicas",
        "request-timeout",
        "resource",
        "restart",
        "role",
        "schedule",
        "selector",
        "serviceaccount",
        "subresource",
        "target",
        "timeout",
        "type",
        "user",
        "verb",
    }
)
_SHORT = MappingProxyType(
    {
        "A": "all-namespaces",
        "R": "recursive",
        "c": "container",
        "f": "filename",
        "i": "stdin",
        "l": "selector",
        "n": "namespace",
        "o": "output",
        "p": "patch",
        "q": "quiet",
        "t": "tty",
    }
)


class Invocation(NamedTuple):
    """What kubectl was called with."""

    words: tuple[str, ...]
    flags: Mapping[str, tuple[str, ...]]
    command: tuple[str, ...]
    """What stands after `--`."""

    def value(self, name: str, default: str = "") -> str:
        """Return the last value of a flag."""
        return self.flags[name][-1] if name in self.flags else default

    def values(self, name: str) -> list[str]:
        """Return all values of a flag, split at commas."""
        return [one for text in self.flags.get(name, ()) for one in text.split(",") if one]

    def holds(self, name: str, *, default: bool = False) -> bool:
        """Return whether a flag is set."""
        return self.flags[name][-1] != "false" if name in self.flags else default


def read_arguments(arguments: tuple[str, ...]) -> Invocation:
    """Return the words and flags; raise UnsupportedError for a flag that is not known here."""
    place = arguments.index("--") if "--" in arguments else len(arguments)
    words: list[str] = []
    flags: dict[str, tuple[str, ...]] = {}
    rest = iter(arguments[:place])
    for argument in rest:
        if argument == "-" or not argument.startswith("-"):
            words.append(argument)
            continue
        for name, value in _flags(argument, rest):
            flags[name] = (*flags.get(name, ()), value)
    return Invocation(tuple(words), flags, arguments[place + 1 :])


def _flags(argument: str, rest: Iterator[str]) -> Iterator[tuple[str, str]]:
    if argument.startswith("--"):
        name, assigned, value = argument[2:].partition("=")
        yield name, _value(name, value if assigned else None, rest)
        return
    letters = argument[1:]
    while letters:
        name = _SHORT.get(letters[0], letters[0])
        letters = letters[1:]
        if name in _BARE and not letters.startswith("="):
            yield name, "true"
            continue
        given = letters.removeprefix("=") if letters else None
        yield name, _value(name, given, rest)
        return


def _value(name: str, given: str | None, rest: Iterator[str]) -> str:
    if name in _BARE:
        return "true" if given is None else given
    if name not in _VALUED:
        raise UnsupportedError(f"the flag `{name}` of kubectl")
    if given is not None:
        return given
    value = next(rest, None)
    if value is None:
        raise UnsupportedError(f"the flag `{name}` of kubectl without a value")
    return value
