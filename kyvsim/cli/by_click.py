"""The program as click sees it: command lines, help texts and errors."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem, get_completion_class

from kyvsim import __version__
from kyvsim.cli.commands import COMMAND_GROUPS, COMMANDS, PURPOSE, named
from kyvsim.cli.declared import (
    COMPLETION,
    CONFIG_OPTIONS,
    BadValueError,
    Call,
    Choice,
    Command,
    Group,
    IntRange,
    Named,
    Parameter,
    PathText,
    Setting,
    Settled,
    UsageError,
    is_flag,
    is_yes,
)
from kyvsim.cli.exit_status import INTERRUPTED, UNUSABLE
from kyvsim.cli.streams import say
from kyvsim.model.diagnostic import Diagnostic, Severity, nearest

_BOOLEAN = re.compile(r"(--[a-z-]+|-[a-zA-Z])=(true|t|1|false|f|0)", re.IGNORECASE)
_SHORT_VALUE = re.compile(r"(-[a-zA-Z])=(.*)", re.DOTALL)
_ORIGINS = "kyvsim.origins"
"""Where a context of click keeps the places that set parameters outside of the line."""
_Completer: TypeAlias = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


_CONFIG_HELP = tuple(str(one.settings["help"]) for one in CONFIG_OPTIONS)


class _Commands(click.Group):
    """A group that imports a command's module only when the command is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        return as_click(named(cmd_name)) if cmd_name in COMMANDS else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            near = nearest(args[0], COMMANDS)
            hint = f" Did you mean {near!r}?" if near else ""
            ctx.fail(f"No such command {args[0]!r}.{hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands in their groups, without importing any."""
        del ctx
        column = max(map(len, COMMANDS))
        for title, commands in COMMAND_GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(column), text) for name, text in commands.items()])


@click.group(cls=_Commands, help=PURPOSE, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="kyvsim")
@click.option("--config", metavar="FILE", expose_value=False, help=_CONFIG_HELP[0])
@click.option("--no-config", is_flag=True, expose_value=False, help=_CONFIG_HELP[1])
def kyvsim() -> None:
    """Take the options that stand before the command."""


def run_by_click(arguments: Sequence[str], found: Settled) -> Any:
    """Run a command and return what it returns, or an exit status where click ends it.

    What is found outside of the line is that of the command that is run.
    """
    try:
        return kyvsim.main(list(arguments), prog_name="kyvsim", standalone_mode=False, obj=found)
    except click.ClickException as error:
        _show(error)
        return UNUSABLE
    except click.Abort:
        say("interrupted")
        return INTERRUPTED


def completion_script(shell: str) -> str:
    """Return the script by which bash, zsh or fish ask this program how a word may go on."""
    make = get_completion_class(shell)
    assert make is not None  # noqa: S101 — click has all three
    return make(kyvsim, {}, "kyvsim", COMPLETION).source()


def _show(error: click.ClickException) -> None:
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        say(error.format_message())
        return
    if isinstance(error, click.UsageError) and error.ctx is not None:
        say(f"Try '{error.ctx.command_path} --help' for help.")
    say(f"error: {error.format_message()}")


def as_click(command: Command | Group) -> click.Command:
    """Return the command of click that has the same options, arguments and texts."""
    if isinstance(command, Group):
        commands = {name: as_click(one) for name, one in command.commands.items()}
        settings = {"max_content_width": command.width} if command.width else {}
        return click.Group(None, commands, help=command.help, context_settings=settings)
    return _Declared(command)


class _Declared(click.Command):
    """A command as it is declared.

    The help of those that are spelled as in Go is there for `-h`, too, and may be wider than
    click's.
    """

    def __init__(self, declared: Command) -> None:
        super().__init__(
            None,
            callback=_callback(declared),
            params=[_parameter(one, declared) for one in declared.parameters],
            help=declared.help,
            epilog=declared.epilog,
            short_help=declared.short_help,
        )
        self.declared = declared
        if declared.spelled_as_in_go:
            self.context_settings = {
                "help_option_names": ["-h", "--help"],
                "max_content_width": 100,
            }

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse arguments after putting them into click's spelling, and add what is set."""
        rest = super().parse_args(ctx, respelled(self.declared, args))
        settings: Mapping[str, Setting] = ctx.obj.settings if ctx.obj else {}
        for parameter in self.params:
            setting = settings.get(parameter.name or "")
            if setting and _is_left(parameter, ctx):
                ctx.params[parameter.name or ""] = _set_value(parameter, setting, ctx)
                ctx.meta.setdefault(_ORIGINS, {})[parameter.name] = setting.origin
        return rest


def _is_left(parameter: click.Parameter, ctx: click.Context) -> bool:
    """Return whether a line does not say what a parameter is."""
    name = parameter.name or ""
    if isinstance(parameter, click.Argument):
        return not ctx.params.get(name)
    return ctx.get_parameter_source(name) is ParameterSource.DEFAULT


def usual_values(call: Call) -> Mapping[str, Any]:
    """Return what a command is given where nothing is set."""
    with as_click(call.command).make_context(call.path, []) as ctx:
        return ctx.params


def read_settings(
    call: Call, settings: Mapping[str, Setting]
) -> tuple[Mapping[str, Any], tuple[Diagnostic, ...]]:
    """Return the values of parameters that are set outside of a line, and what is no value.

    What a command reads when it is run, such as formats, is not looked at.
    """
    command = as_click(call.command)
    parameters = {one.name: one for one in command.params}
    values: dict[str, Any] = {}
    wrong: list[Diagnostic] = []
    with click.Context(command, info_name=call.path) as ctx:
        for name, one in settings.items():
            try:
                values[name] = _value_of(parameters[name], one, ctx)
            except UsageError as error:
                wrong.append(Diagnostic("KV096", Severity.ERROR, str(error), one.origin))
    return values, tuple(wrong)


def _set_value(parameter: click.Parameter, setting: Setting, ctx: click.Context) -> Any:
    """Return the value of a setting; raises UsageError with its origin where it has none."""
    try:
        return _value_of(parameter, setting, ctx)
    except UsageError as error:
        raise UsageError(f"{setting.origin}: {error}") from None


def _value_of(parameter: click.Parameter, setting: Setting, ctx: click.Context) -> Any:
    value: Any = setting.words
    if isinstance(parameter, click.Option) and parameter.is_flag:
        value = is_yes(setting.words[0])
    elif not parameter.multiple and parameter.nargs != -1:
        value = setting.words[-1]
    try:
        return parameter.process_value(ctx, value)
    except click.ClickException as error:
        raise UsageError(error.format_message()) from None


def _callback(command: Command) -> Callable[..., Any]:
    @click.pass_context
    def run(ctx: click.Context, /, **values: Any) -> Any:
        config = ctx.obj.config if ctx.obj else None
        return Call(ctx.command_path, command, ctx.meta.get(_ORIGINS, {}), config).run(values)

    return run


def _parameter(declared: Parameter, command: Command) -> click.Parameter:
    settings = dict(declared.settings)
    match settings.get("type"):
        case Choice(words, case_sensitive):
            settings["type"] = click.Choice(words, case_sensitive=case_sensitive)
        case IntRange(least, most):
            settings["type"] = click.IntRange(least, most)
        case PathText(before=words):
            settings |= {"type": click.STRING, "shell_complete": _offer(words) if words else _files}
        case Named(names):
            settings |= {"type": click.STRING, "shell_complete": _offer(names)}
    if settings.get("callback"):
        settings["callback"] = _value_callback(settings["callback"], command)
    make: type[click.Parameter] = click.Option if declared.is_option else click.Argument
    return make(declared.names, **settings)


def _files(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return that a word goes on as a file does."""
    del ctx, parameter
    return [CompletionItem(incomplete, type="file")]


def _offer(words: Iterable[str] | Callable[[], Iterable[str]]) -> _Completer:
    """Return what says how a word goes on that is one of some."""

    def offered(
        ctx: click.Context, parameter: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        del ctx, parameter
        known = words() if callable(words) else words
        return [CompletionItem(one) for one in known if one.startswith(incomplete)]

    return offered


def _value_callback(
    given: Callable[[Call, str, Any], Any], command: Command
) -> Callable[[click.Context, click.Parameter, Any], Any]:
    def callback(ctx: click.Context, parameter: click.Parameter, value: Any) -> Any:
        try:
            return given(Call(ctx.command_path, command), parameter.opts[-1], value)
        except BadValueError as error:
            raise click.BadParameter(str(error), ctx, parameter) from None

    return callback


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
