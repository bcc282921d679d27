"""`kyvsim explain` and `apply --explain`."""

import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import click

from kyvsim.api.explain import (
    ExplainTarget,
    NotFoundError,
    explained_run,
    open_explanation,
)
from kyvsim.api.inputs import ApplyInputs
from kyvsim.cli.command import Command
from kyvsim.cli.input_options import (
    check_inputs,
    input_options,
    inputs_of,
    stdin_for,
    with_manifests_named,
)
from kyvsim.cli.options import colour_option, print_ignored, refused_options
from kyvsim.cli.output_files import Chosen, chosen_formats, formats_option, report_files
from kyvsim.cli.parameters import INPUT, safe_option
from kyvsim.cli.run_output import View, is_for_people, show_run, shown_pieces
from kyvsim.cli.streams import (
    OK,
    close,
    is_terminal,
    print_diagnostics,
    shows_colours,
    waiting,
    write_out,
)
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.explanation import ObjectExplanation
from kyvsim.model.result import EngineResponse, RunEnding
from kyvsim.report.explain import StepPage
from kyvsim.report.formats import EXPLAIN_FORMATS, RUN_FORMATS
from kyvsim.report.formats import EXPLAIN_FORMATS as FORMATS
from kyvsim.report.run import StreamingDocument, error_fact

_TEXT = "text"
_LEAST_WIDTH, _MOST_WIDTH = 52, 80
_OTHER_VIEWS = (
    ("policy_report", "--policy-report"),
    ("table", "--table"),
    ("stdin", "--stdin"),
    ("diff", "--diff"),
    ("show", "--show"),
    ("output", "--output"),
    ("check_idempotent", "--check-idempotent"),
    ("baseline", "--baseline"),
    ("write_baseline", "--write-baseline"),
)
"""Options of `apply` that --explain does not support."""


def written(
    name: str,
    objects: Iterable[ObjectExplanation],
    diagnostics: Callable[[], tuple[Diagnostic, ...]] = tuple,
    *,
    colours: bool,
) -> Iterator[str]:
    """Yield explanations in a format."""
    width = max(_LEAST_WIDTH, min(shutil.get_terminal_size().columns, _MOST_WIDTH))
    page = StepPage(colours, width, diagnostics)
    pieces: Iterator[str] = EXPLAIN_FORMATS[name].write(objects, page)
    return pieces


def explain_applied(
    given: tuple[ApplyInputs, bytes | None],
    options: Mapping[str, object],
    chosen: Chosen,
    ctx: click.Context,
) -> int:
    """Explain a run of `apply` and return its exit status.

    Standard output has the explanation instead of the text view, or a format that includes it.
    """
    other = next((spelled for name, spelled in _OTHER_VIEWS if options[name]), "")
    named = [name for name, _ in chosen.files]
    named += [] if chosen.shown == _TEXT else [chosen.shown]
    plain = next((name for name in named if not RUN_FORMATS[name].explains), "")
    if not other and plain:
        other = f"--output-format {plain}"
    if not other and options["detailed_results"] and not named:
        other = "--detailed-results"
    if other:
        able = " and ".join(name for name, format_ in RUN_FORMATS.items() if format_.explains)
        text = f"--explain prints text or {able}: it cannot be combined with {other}"
        raise click.UsageError(text, ctx)
    inputs, stdin = given
    with report_files(chosen, RUN_FORMATS) as reports:
        with waiting("reading files", shown=is_terminal(sys.stderr)):
            run = explained_run(open_explanation(inputs, ExplainTarget(), stdin))

        def row(response: EngineResponse) -> str:
            found = run.explained(response)
            return "".join(written(_TEXT, [found], colours=shows_colours())) if found else ""

        view = None
        if chosen.shown == _TEXT:
            view = StreamingDocument(head=lambda: (), row=row, tail=lambda _: ())
        return show_run(
            run,
            options,
            lambda run: shown_pieces(run, chosen, options, reports, view=view),
            View(is_for_people(chosen), media=RUN_FORMATS[chosen.shown].media),
            finish=lambda _: reports.commit(),
        )


_HELP = """Explain step by step why each rule passed, failed or was skipped.

POLICY is a file, a folder or - for standard input.

\b
    kyvsim explain policies/ --resource pods.yaml
    kyvsim explain policies/ -r pods.yaml --rule check-image --object Pod/web
    kyvsim explain policies/ -r pods.yaml --output-format html > why.html
"""


@click.command(
    "explain",
    cls=Command,
    go_spelling=True,
    help=_HELP,
    epilog="Exit status: 0 on success, 2 if some input could not be used.",
)
@safe_option(
    "--rule",
    default="",
    metavar="NAME",
    group=INPUT,
    help="Explain only this rule: RULE, POLICY/RULE or POLICY.",
)
@safe_option(
    "--object",
    default="",
    metavar="NAME",
    group=INPUT,
    help="Explain only this object: NAME, KIND/NAME or NAMESPACE/KIND/NAME.",
)
@formats_option(FORMATS)
@input_options
@colour_option
@refused_options
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> int:
    """Run `kyvsim explain` and return its exit status."""
    options = with_manifests_named(options)
    check_inputs(ctx, options)
    chosen = chosen_formats(options, FORMATS, ctx)
    stdin = stdin_for(options, ctx)
    target = ExplainTarget(options["rule"], options["object"])
    try:
        with waiting("reading files", shown=is_terminal(sys.stderr)):
            explained = open_explanation(inputs_of(options, ctx), target, stdin)
    except NotFoundError as error:
        print_diagnostics(error.diagnostics)
        raise click.UsageError(str(error), ctx) from None
    run = explained.run
    print_diagnostics(run.diagnostics)
    print_ignored(run.left_out, options)

    def later() -> tuple[Diagnostic, ...]:
        # The explanation already shows that no rule matched, but not that policies were given as
        # resources.
        return tuple(one for one in run.final_diagnostics() if one.severity is Severity.ERROR)

    def every() -> tuple[Diagnostic, ...]:
        return (*run.diagnostics, *later())

    with report_files(chosen, FORMATS) as files:
        objects = tuple(explained.objects) if chosen.files else explained.objects
        write_out(
            written(chosen.shown, objects, every, colours=shows_colours()),
            FORMATS[chosen.shown].media,
        )
        files.fill(written(name, objects, every, colours=False) for name, _ in chosen.files)
    print_diagnostics(later())
    ending = RunEnding((error_fact(every()),))
    if ending.status != OK:
        close(ending, on_stdout=chosen.shown == _TEXT)
    return ending.status
