"""Options that commands share: lists split at commas, flags of the online half, Go's spellings."""

import csv
import re
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import click

Decorator: TypeAlias = Callable[[Callable[..., Any]], Callable[..., Any]]

_BOOLEAN = re.compile(r"(--[a-z-]+|-[a-zA-Z])=(true|t|1|false|f|0)", re.IGNORECASE)
_SHORT_VALUE = re.compile(r"(-[a-zA-Z])=(.*)", re.DOTALL)

_ONLINE = (
    (("-c", "--cluster"), True),
    (("-n", "--namespace"), False),
    (("--kubeconfig",), False),
    (("--context",), False),
    (("--cluster-wide-resources",), True),
    (("--batch-size",), False),
    (("--concurrent",), False),
    (("--continue-on-error",), True),
    (("--show-performance",), True),
    (("--registry",), True),
    (("-b", "--git-branch"), False),
    (("--username",), False),
    (("--password",), False),
)
"""Flags of the reference that need a cluster, a registry or a git server; whether they are bare."""

_LATER = (
    (("--json",), False),
    (("--http-payload",), False),
    (("--envoy-payload",), False),
    (("--parameter-resource",), False),
    (("--generate-exceptions",), True),
    (("--generated-exception-ttl",), False),
)
"""Flags of the reference's offline half that kyvsim does not have yet."""


def list_option(*names: str, help: str, hidden: bool = False) -> Decorator:  # noqa: A002 — click's word
    """Return an option that may repeat and that splits its values at commas, as a tuple."""
    return click.option(*names, multiple=True, callback=_split, help=help, hidden=hidden)


def refused_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the flags that are known but can't be honoured, each with a word on why."""
    for names, bare in _ONLINE:
        function = _refused(names, bare=bare, say=_offline)(function)
    for names, bare in _LATER:
        function = _refused(names, bare=bare, say=_not_yet)(function)
    return function


class GoSpelledCommand(click.Command):
    """A command that takes `--flag=true` and `-r=path` as well, as Go programs do."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse arguments after putting them into click's spelling."""
        bare = {
            name
            for parameter in self.params
            if isinstance(parameter, click.Option) and parameter.is_flag
            for name in parameter.opts
        }
        return super().parse_args(ctx, _respelled(args, bare))


def _respelled(args: Sequence[str], bare: set[str]) -> list[str]:
    """Return the arguments in click's spelling; what follows `--` stays."""
    end = args.index("--") if "--" in args else len(args)
    found: list[str] = []
    for argument in args[:end]:
        boolean = _BOOLEAN.fullmatch(argument)
        short = _SHORT_VALUE.fullmatch(argument)
        if boolean and boolean[1] in bare:
            found += [boolean[1]] if boolean[2].lower() in {"true", "t", "1"} else []
        elif short and short[1] not in bare:
            found += [short[1], short[2]]
        else:
            found.append(argument)
    return [*found, *args[end:]]


def _split(
    ctx: click.Context, parameter: click.Parameter, values: Sequence[str]
) -> tuple[str, ...]:
    del ctx, parameter
    parts: list[str] = []
    for value in values:
        parts += next(csv.reader([value])) if '"' in value else value.split(",")
    return tuple(part for part in parts if part)


def _refused(names: tuple[str, ...], *, bare: bool, say: Callable[[str], str]) -> Decorator:
    name = names[-1]

    def refuse(ctx: click.Context, parameter: click.Parameter, value: Any) -> None:
        del parameter
        if value:
            raise click.UsageError(say(name), ctx)

    return click.option(
        *names, is_flag=bare, expose_value=False, hidden=True, callback=refuse, is_eager=True
    )


def _offline(name: str) -> str:
    return (
        f"kyvsim works offline: {name} needs a cluster, a registry or a git server; "
        "pass files with --resource and policies as paths"
    )


def _not_yet(name: str) -> str:
    return f"{name} is not supported by kyvsim yet"
