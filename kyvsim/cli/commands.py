"""Commands by name: the module of one is loaded when it is called."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from types import MappingProxyType

from kyvsim.cli.declared import Call, Command, Group

COMMAND_GROUPS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "Evaluate policies": {
            "apply": "Apply policies to resources and show what they do.",
            "explain": "Show how policies come to what they say of resources, step by step.",
            "diff": "Show what two sets of policies say otherwise of the same resources.",
            "simulate": "Play policies on a simulated cluster and show what happens, and when.",
            "report": "Show what partial reports of spread runs make up.",
        },
        "Test policies": {
            "test": "Run tests of policies: manifests that say what policies are expected to do.",
            "chainsaw": "Run chainsaw tests on a simulated cluster.",
            "examples": "Make small manifests that pass and fail each rule, to begin tests with.",
        },
        "Check and convert policies": {
            "lint": "Check policies without resources and show all that is wrong with them.",
            "rule": "Show what the code of a remark means, with a bad and a good example.",
            "equal": "Compare two sets of policies by cases made of what they mention.",
            "migrate": "Convert policies with rules to policies in CEL.",
        },
        "Expressions": {
            "jp": "Work with JMESPath expressions as policies use them.",
            "cel": "Work with CEL expressions as Kyverno's policy kinds use them.",
        },
        "Editors and browsers": {
            "lsp": "Speak the Language Server Protocol, for editors.",
            "playground": "Serve a local web page for trying policies out.",
            "schema": "Print the JSON Schema of a kind of file, for editors.",
        },
        "This program": {
            "completion": "Print the script by which a shell completes words.",
            "config": "Show what a configuration and variables set, and from where.",
            "man": "Print the manual page.",
            "version": "Show the version.",
        },
    }
)
"""Commands and what they do, in the groups that `kyvsim --help` shows."""
COMMANDS: Mapping[str, str] = MappingProxyType(
    {name: text for group in COMMAND_GROUPS.values() for name, text in group.items()}
)
"""Commands and what they do."""
PURPOSE = "Evaluate Kyverno policies offline: verdicts, mutated and generated resources."
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
