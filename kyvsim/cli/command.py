"""Commands and groups of click, with settings from files and variables, and Go's spelling."""

import contextlib
import re
from collections.abc import Iterator
from typing import Any

import click
from click.core import ParameterSource

from kyvsim.cli.commands import CONFIG_HELP
from kyvsim.cli.parameters import SECTIONS, Option, PathType
from kyvsim.cli.settings import CONFIG, NoConfig

_TRUE = frozenset({"true", "t", "1"})
_FALSE = frozenset({"false", "f", "0"})
_SHORT = re.compile("-[a-zA-Z]")


class Command(click.Command):
    """A command whose parameters configurations and variables may set.

    With `go_spelling` it also accepts `--flag=true` and `-r=path`, as Go programs do. Without
    `reads_settings` the command reads settings itself.
    """

    def __init__(
        self,
        *arguments: Any,
        go_spelling: bool = False,
        reads_settings: bool = True,
        **settings: Any,
    ) -> None:
        super().__init__(*arguments, **settings)
        if go_spelling:
            self.context_settings.update(help_option_names=["-h", "--help"], max_content_width=100)
        if not reads_settings:
            self.context_settings["auto_envvar_prefix"] = ""
        self.go_spelling = go_spelling
        # chainsaw has a --config of its own, as the reference has.
        if not any("--config" in parameter.opts for parameter in self.params):
            self.params.append(
                Option(
                    ["--config", CONFIG],
                    type=PathType(),
                    metavar="FILE",
                    expose_value=False,
                    help=CONFIG_HELP,
                )
            )
        self.params.append(NoConfig(reads_settings=reads_settings))

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options in their sections."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None and isinstance(parameter, click.Option):
                sections.setdefault(getattr(parameter, "group", ""), []).append(record)
        for title in (*SECTIONS, ""):
            if title in sections:
                with formatter.section(
                    title or ("Other options" if len(sections) > 1 else "Options")
                ):
                    formatter.write_dl(sections[title])

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse arguments, also in Go's spelling."""
        if not self.go_spelling:
            return super().parse_args(ctx, args)
        words, off = self._respelled(args)
        rest = super().parse_args(ctx, words)
        # `--flag=false` counts for more than a variable or a configuration that sets the flag.
        for name in off:
            given = ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE
            if name in ctx.params and not given:
                ctx.params[name] = False
                ctx.set_parameter_source(name, ParameterSource.COMMANDLINE)
        return rest

    def _respelled(self, args: list[str]) -> tuple[list[str], set[str]]:
        """Return the words before `--` in click's spelling, and the flags that are off."""
        flags = {
            name: parameter.name
            for parameter in self.params
            if isinstance(parameter, click.Option) and parameter.is_flag and parameter.name
            for name in parameter.opts
        }
        end = args.index("--") if "--" in args else len(args)
        words: list[str] = []
        off: set[str] = set()
        for word in args[:end]:
            name, equals, value = word.partition("=")
            if name in flags and value.lower() in _TRUE:
                words.append(name)
            elif name in flags and value.lower() in _FALSE:
                off.add(flags[name])
            elif equals and _SHORT.fullmatch(name) and name not in flags:
                words += [name, value]
            else:
                words.append(word)
        return [*words, *args[end:]], off


class Group(click.Group):
    """A group of such commands."""

    command_class = Command


@contextlib.contextmanager
def of_extra(extra: str) -> Iterator[None]:
    """Raise ClickException if the imports in the block need the packages of an extra."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("kyvsim"):
            raise
        text = f"this needs the package {error.name}: pip install 'kyvsim[{extra}]'"
        raise click.ClickException(text) from None
