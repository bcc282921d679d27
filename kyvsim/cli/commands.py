"""Commands by name: the module of one is loaded when it is called."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from kyvsim.cli.declared import Call, Command, Group
from kyvsim.cli.front_page import COMMANDS
from kyvsim.light.importing import import_module

_ELSEWHERE: Mapping[str, str] = MappingProxyType({"test": "suite"})
"""Modules that are called otherwise: one called `test` looks like a test of kyvsim."""


def module_of(command: str) -> str:
    """Return the name of the module in which a command lies."""
    return _ELSEWHERE.get(command, command)


def named(name: str) -> Command | Group:
    """Return the command of a name in COMMANDS."""
    found: Command | Group = import_module(f"kyvsim.cli.{module_of(name)}").command
    return found


def called(words: Sequence[str]) -> tuple[Call, Sequence[str]] | None:
    """Return the command that the first words call, and its arguments; None where they do not."""
    if not words or words[0] not in COMMANDS:
        return None
    command, rest = named(words[0]), words[1:]
    path = f"kyvsim {words[0]}"
    if isinstance(command, Group):
        inner = command.commands.get(rest[0]) if rest else None
        return (Call(f"{path} {rest[0]}", inner), rest[1:]) if inner else None
    return Call(path, command), rest


def every_command() -> Mapping[tuple[str, ...], Command]:
    """Return all commands by the words that lead to them; their modules are loaded for it."""
    found: dict[tuple[str, ...], Command] = {}
    for name in COMMANDS:
        command = named(name)
        if isinstance(command, Group):
            found |= {(name, word): inner for word, inner in command.commands.items()}
        else:
            found[name,] = command
    return found
