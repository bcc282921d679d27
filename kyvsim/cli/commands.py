"""The program as a click group that imports the module of a command when it is called."""

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType

import click
from click.shell_completion import get_completion_class

from kyvsim import __version__
from kyvsim.model.diagnostic import nearest

COMMAND_GROUPS: Mapping[str, Mapping[str, str]] = {
    "Evaluate policies": {
        "apply": "Evaluate policies on resources and show the results.",
        "explain": "Explain step by step why each rule passed, failed or was skipped.",
        "diff": "Compare the results of two policy sets on the same resources.",
        "simulate": "Run policies on a simulated cluster and show what happens over time.",
        "report": "Merge or summarize reports of distributed runs.",
    },
    "Test policies": {
        "test": "Run policy tests (kyverno-test.yaml).",
        "chainsaw": "Run chainsaw tests on a simulated cluster.",
        "examples": "For each rule, generate small manifests that pass and that fail.",
    },
    "Check and convert policies": {
        "lint": "Check policies for errors, without resources.",
        "rule": "Explain a diagnostic code, with examples.",
        "equal": "Test whether two policy sets behave the same, using generated cases.",
        "migrate": "Convert ClusterPolicies to CEL policies.",
        "upgrade": "Show what another release of Kyverno changes for policies.",
    },
    "Expressions": {
        "jp": "Parse and evaluate JMESPath expressions with Kyverno's functions.",
        "cel": "Check and evaluate CEL expressions with Kyverno's libraries.",
    },
    "Editors and browsers": {
        "lsp": "Start the language server for editors.",
        "playground": "Start a local web playground.",
        "schema": "Print the JSON Schema of a resource kind.",
    },
    "This program": {
        "help": "Show the help of a command.",
        "completion": "Print a shell completion script.",
        "config": "Show effective settings and where each comes from.",
        "man": "Print the manual page in roff format.",
        "version": "Show the version.",
    },
}
"""Commands with descriptions, in the groups of `kyvsim --help`."""
COMMANDS: Mapping[str, str] = {
    name: text for group in COMMAND_GROUPS.values() for name, text in group.items()
}
PURPOSE = "Evaluate Kyverno policies offline and show results, mutated and generated resources."
PREFIX = "KYVSIM"
CONFIG_HELP = "Read settings from FILE instead of a discovered .kyvsim.yaml."
NO_CONFIG_HELP = "Ignore configuration files."
COMPLETION = "_KYVSIM_COMPLETE"
"""The environment variable for completion."""
_ELSEWHERE: Mapping[str, str] = MappingProxyType({"test": "suite"})
"""Modules with other names: `test` would look like a test of kyvsim."""


def module_of(command: str) -> str:
    """Return the name of the module of a command."""
    return _ELSEWHERE.get(command, command)


class _Commands(click.Group):
    """A group that imports a command's module only when the command is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands in the order of the help."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command by name; None if it is unknown."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"kyvsim.cli.{module_of(cmd_name)}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command of the first word; an unknown one is an error with a hint."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            near = nearest(args[0], COMMANDS)
            hint = f" Did you mean {near!r}?" if near else ""
            ctx.fail(f"No such command {args[0]!r}.{hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands in groups, without importing their modules."""
        del ctx
        column = max(map(len, COMMANDS))
        for title, commands in COMMAND_GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(column), text) for name, text in commands.items()])


@click.group(
    cls=_Commands,
    help=PURPOSE,
    context_settings={"auto_envvar_prefix": PREFIX, "help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, "-V", "--version", prog_name="kyvsim", allow_from_autoenv=False)
@click.option("--config", "config_file", metavar="FILE", allow_from_autoenv=False, help=CONFIG_HELP)
@click.option("--no-config", is_flag=True, allow_from_autoenv=False, help=NO_CONFIG_HELP)
def kyvsim(**_: object) -> None:
    """Accept options before the command, whose context reads them."""


def completion_script(shell: str) -> str:
    """Return the completion script of bash, zsh or fish."""
    make = get_completion_class(shell)
    assert make is not None  # noqa: S101 — click supports all three
    return make(kyvsim, {}, "kyvsim", COMPLETION).source()
