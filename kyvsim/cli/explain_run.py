"""Explanations as `explain` and `apply --explain` write them."""

import sys
from collections.abc import Iterable, Mapping
from typing import Any

from kyvsim.api.explain import Asked, Explaining, open_explanation
from kyvsim.api.inputs import ApplyInputs
from kyvsim.cli import declared
from kyvsim.cli.closing import close
from kyvsim.cli.front_page import page_width
from kyvsim.cli.streams import is_terminal, say, shows_colours, write_out
from kyvsim.cli.walking import say_left_out
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.report.explain_formats import FORMATS
from kyvsim.report.explain_words import Page
from kyvsim.report.progress import waiting
from kyvsim.report.remark_text import remark_text
from kyvsim.report.run import Terms
from kyvsim.report.run_ending import run_ending

_MARGIN = 2
"""What help texts leave free of a terminal's width."""
_OTHER_VIEWS = (
    ("output_format", "--output-format"),
    ("policy_report", "--policy-report"),
    ("table", "--table"),
    ("stdin", "--stdin"),
    ("diff", "--diff"),
    ("detailed_results", "--detailed-results"),
    ("output", "--output"),
    ("check_idempotent", "--check-idempotent"),
    ("strict", "--strict"),
)
"""Options of `apply` that an explanation has no use for, with their spelling."""


def opened(inputs: ApplyInputs, asked: Asked, stdin: bytes | None) -> Explaining:
    """Return what is to be explained; raises NotFoundError."""
    with waiting("reading files", shown=is_terminal(sys.stderr)):
        return open_explanation(inputs, asked, stdin)


def remark(diagnostics: Iterable[Diagnostic]) -> None:
    """Say what is wrong with the inputs."""
    for entry in diagnostics:
        say(remark_text(entry))


def show(found: Explaining, name: str, options: Mapping[str, Any]) -> None:
    """Write what is wrong with the inputs, and explanations in a format."""
    remark(found.run.diagnostics)
    say_left_out(found.run.left_out, options)
    page = Page(shows_colours(unwanted=options["remove_color"]), page_width() + _MARGIN)
    write_out(FORMATS[name](found.objects, page))


def explain_applied(
    inputs: ApplyInputs, stdin: bytes | None, options: Mapping[str, Any], call: declared.Call
) -> int:
    """Explain what `apply` says in place of saying it, and return its exit status."""
    other = next((spelled for name, spelled in _OTHER_VIEWS if options[name]), "")
    if other:
        text = f"--explain is a view of its own: it does not go with {other}"
        raise declared.UsageError(text, call)
    found = opened(inputs, Asked(), stdin)
    terms = Terms(options["warn_exit_code"], options["warn_no_pass"])
    run = found.run._replace(terms=terms)
    show(found, "text", options)
    remark(run.last_remarks())
    ending = run_ending(run)
    close(ending, on_stdout=True)
    return ending.status
