"""`kyvsim man`: the manual page, generated from the commands."""

import inspect
import re
from collections.abc import Iterator

import click

from kyvsim import __version__
from kyvsim.cli.command import Command, command_contexts
from kyvsim.cli.commands import PURPOSE, kyvsim
from kyvsim.cli.streams import OK, write_out

_STATUSES = (
    ("0", "Nothing failed."),
    ("1", "A rule failed or could not be evaluated, a test failed, or something differs."),
    ("2", "Some input could not be used; the rest is still reported."),
)
_FILES = (
    (".kyvsim.yaml", "Options of commands, in the working folder or a parent folder."),
    ("pyproject.toml", "The same, in the table tool.kyvsim."),
    (".kyvsimignore", "Files and folders to skip, in .gitignore syntax."),
)


def manual_page() -> Iterator[str]:
    """Yield the page."""
    yield f'.TH KYVSIM 1 "" "kyvsim {__version__}" "User Commands"\n'
    yield f".SH NAME\nkyvsim \\- {_text(PURPOSE)}\n"
    yield ".SH SYNOPSIS\n.B kyvsim\n\\fICOMMAND\\fR [\\fIOPTIONS\\fR] [\\fIARGS\\fR]...\n"
    yield ".SH COMMANDS\n"
    root = click.Context(kyvsim, info_name="kyvsim", **kyvsim.context_settings)
    for context in command_contexts(root):
        command = context.command
        usage = " ".join(command.collect_usage_pieces(context))
        yield f".SS {_text(context.command_path)} {_text(usage)}\n"
        for number, paragraph in enumerate(
            re.split(r"\n{2,}", inspect.cleandoc(command.help or ""))
        ):
            lead = ".PP\n" if number else ""
            if paragraph.startswith("\b"):
                yield f".PP\n.nf\n{_text(paragraph.removeprefix(chr(8)).strip(chr(10)))}\n.fi\n"
            else:
                yield f"{lead}{_text(' '.join(paragraph.split()))}\n"
        for parameter in command.get_params(context):
            record = parameter.get_help_record(context)
            if record is not None and record[1]:
                yield _item(*record)
    yield ".SH EXIT STATUS\n"
    yield from (_item(name, text) for name, text in _STATUSES)
    yield ".SH ENVIRONMENT\n"
    yield _item(
        "KYVSIM_COMMAND_OPTION, KYVSIM_OPTION", "Set an option; the command line overrides it."
    )
    yield _item("KYVSIM_CONFIG", "The configuration file to read; empty: none.")
    yield _item("NO_COLOR, FORCE_COLOR", "Switch colours off or on.")
    yield ".SH FILES\n"
    yield from (_item(name, text) for name, text in _FILES)


def _item(name: str, text: str) -> str:
    return f".TP\n.B {_text(name)}\n{_text(' '.join(text.split()))}\n"


def _text(text: str) -> str:
    """Return a text escaped for roff."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^(?=[.'])", r"\\&", escaped, flags=re.MULTILINE)


_HELP = """Print the manual page in roff format.

\b
    kyvsim man > ~/.local/share/man/man1/kyvsim.1
    kyvsim man | man -l -
"""


@click.command("man", cls=Command, help=_HELP)
def command() -> int:
    """Run `kyvsim man` and return its exit status."""
    write_out(manual_page())
    return OK
