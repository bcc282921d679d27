"""`kyvsim completion`: scripts by which shells complete words."""

from typing import Any

from kyvsim.cli import declared
from kyvsim.cli.by_click import completion_script
from kyvsim.cli.exit_status import OK
from kyvsim.cli.streams import write_out

_SHELLS = ("bash", "zsh", "fish")
_HELP = """Print the script by which a shell completes commands, options and files.

\b
    kyvsim completion bash > ~/.local/share/bash-completion/completions/kyvsim
    kyvsim completion zsh > "${fpath[1]}/_kyvsim"
    kyvsim completion fish > ~/.config/fish/completions/kyvsim.fish
"""


@declared.command(help=_HELP)
@declared.argument("shell", metavar="bash|zsh|fish")
@declared.pass_call
def command(call: declared.Call, /, **options: Any) -> int:
    """Run `kyvsim completion` and return its exit status."""
    shell = options["shell"]
    if shell not in _SHELLS:
        raise declared.UsageError(f"{shell}: not one of {', '.join(_SHELLS)}", call)

    write_out([completion_script(shell)])
    return OK
