"""`kyvsim completion`: shell completion scripts."""

import click

from kyvsim.cli.command import Command
from kyvsim.cli.commands import completion_script
from kyvsim.cli.parameters import argument
from kyvsim.cli.streams import OK, write_out

_SHELLS = ("bash", "zsh", "fish")
_HELP = """Print a shell completion script.

\b
    kyvsim completion bash > ~/.local/share/bash-completion/completions/kyvsim
    kyvsim completion zsh > "${fpath[1]}/_kyvsim"
    kyvsim completion fish > ~/.config/fish/completions/kyvsim.fish
"""


@click.command("completion", cls=Command, help=_HELP)
@argument("shell", metavar="bash|zsh|fish")
@click.pass_context
def command(ctx: click.Context, /, **options: object) -> int:
    """Run `kyvsim completion` and return its exit status."""
    shell = options["shell"]
    if shell not in _SHELLS:
        raise click.UsageError(f"{shell}: not one of {', '.join(_SHELLS)}", ctx)

    write_out([completion_script(shell)])
    return OK
