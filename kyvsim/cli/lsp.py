"""`kyvsim lsp`: policies in editors that speak the Language Server Protocol."""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from kyvsim.api.workspace import Rules
from kyvsim.cli import declared
from kyvsim.cli.by_click import read_settings, usual_values
from kyvsim.cli.exit_status import OK
from kyvsim.cli.extras import of_extra
from kyvsim.cli.options import list_option, strict_option
from kyvsim.cli.settled import settled
from kyvsim.cli.walking import walking_of, walking_options
from kyvsim.load.folders import USUAL
from kyvsim.model.diagnostic import Diagnostic, Severity

if TYPE_CHECKING:
    from kyvsim.lsp.session import Settings

_HELP = """Speak the Language Server Protocol over standard input and output, for editors.

What lint finds is shown as one types, with what puts it right; fields, operators and functions are
completed and explained; tests and exceptions lead to the policies that they name. PATH is what is
looked at beside what is open, by default the folders of the editor.

\b
    kyvsim lsp
    kyvsim lsp policies/ exceptions/
"""


_PATHS: Final = frozenset({"paths", "crd_path", "exception"})


@declared.command(help=_HELP, epilog="It runs until the editor ends it.", settles_itself=True)
@declared.shared(
    declared.argument(
        "paths", nargs=-1, metavar="[PATH]...", type=declared.PathText(), key="policies"
    )
)
@declared.shared(
    list_option("-e", "--exception", "--exceptions", help="Policy exceptions.", paths=True)
)
@declared.shared(
    list_option("--crd-path", "--crd-paths", help="Definitions of custom resources.", paths=True)
)
@strict_option
@walking_options
@declared.pass_call
def command(call: declared.Call, /, **options: Any) -> int:
    """Run `kyvsim lsp` and return its exit status."""
    with of_extra("lsp"):
        from kyvsim.lsp.server import serve  # noqa: PLC0415 — of an extra
    walking_of(options, call)
    # What the line says counts wherever the editor's folder is, before what that folder sets.
    usual = usual_values(call)
    given = {name: one for name, one in options.items() if one != usual[name]}
    for name in _PATHS & given.keys():
        given[name] = tuple(os.path.abspath(one) for one in given[name])
    serve(lambda: _settings(call, usual, given))
    return OK


def _settings(
    call: declared.Call, usual: Mapping[str, Any], given: Mapping[str, Any]
) -> "Settings":
    from kyvsim.lsp.session import Settings  # noqa: PLC0415 — likewise

    found = settled(call, ())
    values, wrong = read_settings(call, found.settings)
    options, remarks = {**usual, **values, **given}, [*found.remarks, *wrong]
    try:
        walking = walking_of(options, call)
    except declared.UsageError as error:
        walking, place = USUAL, found.settings["exclude"].origin
        remarks.append(Diagnostic("KV096", Severity.ERROR, str(error), place))
    rules = Rules(
        paths=tuple(options["paths"]),
        exceptions=tuple(options["exception"]),
        crd_paths=tuple(options["crd_path"]),
        walking=walking,
        strict=options["strict"],
    )
    return Settings(rules, tuple(remarks))
