"""The output of a run: diagnostics, results and the closing line."""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import click

from kyvsim.api.apply import render_run
from kyvsim.cli.options import print_evaluated_files, print_ignored
from kyvsim.cli.output_files import (
    BASELINE,
    Chosen,
    ObjectFiles,
    ReportFiles,
    named_formats,
    objects_document,
    refuse_overwriting,
)
from kyvsim.cli.parameters import Options
from kyvsim.cli.streams import (
    FAILED,
    SummaryStyle,
    close,
    print_diagnostics,
    print_stderr,
    shown_width,
    shows_colours,
    shows_links,
    write_out,
)
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.report.formats import RUN_FORMATS as FORMATS
from kyvsim.report.formats import TEXT
from kyvsim.report.run import (
    DocumentSet,
    ExitTerms,
    Run,
    StreamingDocument,
    ending_line,
    run_ending,
)
from kyvsim.report.style import RenderOptions, Show, safe_line, safe_text

_LISTED_FILES: Final = 3
"""Number of files with the same deprecation that are listed."""


class View(NamedTuple):
    """The content of standard output."""

    for_people: bool
    """Whether it is a view for people, with the closing line."""
    closing: SummaryStyle | None = None
    media: str = TEXT


def reported_deprecations(lines: Sequence[str], options: Options) -> bool:
    """Print what a release reports about deprecated kinds; return whether it fails the run.

    Kyverno prints a line for each document, on standard output, even into documents.

    upstream: cmd/cli/kubectl-kyverno/commands/apply/command.go `failOnDeprecationWarnings`
    """
    fails = bool(lines) and options.get("warnings_as_errors")
    files_by_text: dict[str, list[str]] = {}
    for line in dict.fromkeys(lines) if fails or not options.get("quiet") else ():
        file, _, text = line.partition(": ")
        files_by_text.setdefault(text, []).append(file)
    for text, files in files_by_text.items():
        more = len(files) - _LISTED_FILES
        is_listed = more <= 0 or options.get("verbose")
        shortened = f"{', '.join(files[:_LISTED_FILES])} and {more} more (--verbose)"
        for file in files if is_listed else (shortened,):
            print_stderr(safe_line(f"Warning: {file}: {text}"))
    if fails:
        print_stderr(
            f"error: found {len(lines)} deprecation warning(s) and --warnings-as-errors is set"
        )
    return bool(fails)


def show_run(
    run: Run,
    options: Options,
    pieces_of: Callable[[Run], Iterable[str]],
    view: View,
    *,
    finish: Callable[[Run], None] | None = None,
) -> int:
    """Write a run to standard output and diagnostics to standard error; return the exit status.

    `pieces_of` returns the texts of its results; `finish` is called after they are written.
    """
    run = run._replace(
        terms=ExitTerms(
            options["warn_exit_code"],
            options["warn_no_pass"],
            (options.get("fail_on") or "").lower(),
        )
    )
    if options["strict"]:
        run = run.strictly()

    def report(diagnostics: Iterable[Diagnostic]) -> None:
        """Print diagnostics; with --quiet, only errors."""
        quiet = options.get("quiet")
        print_diagnostics(
            tuple(one for one in diagnostics if not quiet or one.severity is Severity.ERROR)
        )

    if reported_deprecations(run.deprecated, options):
        return FAILED
    # A long view would scroll errors off the screen, so they are printed below it.
    errors = tuple(one for one in run.diagnostics if one.severity is Severity.ERROR)
    report(
        one for one in run.diagnostics if not view.for_people or one.severity is not Severity.ERROR
    )
    if options.get("verbose"):
        print_evaluated_files(run.policies)
    print_ignored(run.left_out, options)
    write_out(pieces_of(run), view.media)
    if view.for_people:
        print_diagnostics(errors)
    if finish is not None:
        finish(run)
    report(run.final_diagnostics())
    ending = run_ending(run)
    close(ending, on_stdout=view.for_people, closing=view.closing)
    return ending.status


_VIEWS = (
    ("policy_report", "--policy-report", "open-report"),
    ("table", "--table", "table"),
    ("stdin", "--stdin", "manifests"),
    ("generate_exceptions", "--generate-exceptions", "exceptions"),
)
"""Options that choose a format for standard output."""
_REPORTS = ("open-report", "open-report-json", "policy-report", "policy-report-json")
_AS_DATA: Mapping[str, Mapping[str, str]] = {
    "policy_report": {
        "yaml": "open-report",
        "json": "open-report-json",
        **{name: name for name in _REPORTS},
    },
    "generate_exceptions": {"yaml": "exceptions", "json": "exceptions-json"},
}
"""Formats of these options combined with a data format."""
_VIEW = "text"


def chosen_by(options: Options, ctx: click.Context) -> Chosen:
    """Return the formats of the options; raises UsageError if they contradict each other."""
    named = named_formats(options["output_format"], FORMATS, ctx)
    given: list[tuple[str, str]] = []
    shown = named.shown
    for key, spelled, name in _VIEWS:
        if options[key]:
            known = _AS_DATA.get(key, {}) if shown else {}
            if known and shown not in known:
                text = f"{spelled} supports {', '.join(known)}; not {shown}"
                raise click.UsageError(text, ctx)
            given.append((spelled, known.get(shown, name)))
            shown = "" if known else shown
    if shown:
        given.append((f"--output-format {shown}", shown))
    if len(given) > 1:
        names = " and ".join(spelled for spelled, _ in given)
        text = f"{names} cannot be combined: only one format can go to standard output"
        raise click.UsageError(text, ctx)
    chosen = Chosen(given[0][1] if given else next(iter(FORMATS)), named.files)
    for name in ("diff", "show", "statistics"):
        if options.get(name) and _VIEW not in {chosen.shown, *dict(chosen.files)}:
            text = f"--{name} applies to the text view and cannot be combined with {given[0][0]}"
            raise click.UsageError(text, ctx)
    if chosen.files or options["output"] or options["write_baseline"]:
        others = (("--output", options["output"]), (BASELINE, options["write_baseline"]))
        refuse_overwriting((*chosen.files, *others), options, ctx)
    return chosen


def is_for_people(chosen: Chosen) -> bool:
    """Return whether standard output is a view for people."""
    return FORMATS[chosen.shown].for_people


def streams(chosen: Chosen, options: Mapping[str, object]) -> bool:
    """Return whether standard output is a text view, written response by response."""
    own = render_options_of(chosen, options)
    return chosen.shown == _VIEW and (own.lists_all or own.show is Show.OBJECTS)


def shown_pieces(
    run: Run,
    chosen: Chosen,
    options: Mapping[str, object],
    files: ReportFiles,
    objects: ObjectFiles | None = None,
    *,
    view: StreamingDocument | None = None,
) -> Iterator[str]:
    """Yield the text for standard output, or of `view`; write the other formats to files."""
    documents = _documents(run, chosen, options)
    if view:
        documents[0] = view
    for index, piece in render_run(run, documents):
        if not index:
            yield piece
        elif objects and index == len(documents) - 1:
            objects.write(piece)
        else:
            files.write(index - 1, piece)
    closing = f"{ending_line(run_ending(run))}\n"
    for index, (name, _) in enumerate(chosen.files):
        if FORMATS[name].for_people:
            files.write(index, closing)


def document_set(chosen: Chosen, options: Mapping[str, object]) -> DocumentSet:
    """Return the documents of the formats for parts of a run."""
    number = 1 + len(chosen.files) + bool(options["output"])
    return DocumentSet(number, lambda run: _documents(run, chosen, options))


def _documents(run: Run, chosen: Chosen, options: Mapping[str, object]) -> list[StreamingDocument]:
    """Return the documents for standard output, for files, and for changed objects if written."""
    begun = [FORMATS[chosen.shown].write(run, render_options_of(chosen, options))]
    plain = _plain_render_options(options)._replace(in_file=True)
    begun += [FORMATS[name].write(run, plain) for name, _ in chosen.files]
    return [*begun, objects_document()] if options["output"] else begun


def render_options_of(chosen: Chosen, options: Mapping[str, object]) -> RenderOptions:
    """Return the options for standard output."""
    plain = _plain_render_options(options)
    if not is_for_people(chosen):
        return plain
    colours = shows_colours()
    return plain._replace(
        colours=colours, width=shown_width(sys.stdout), links=shows_links(sys.stdout)
    )


def summary_style(chosen: Chosen, options: Mapping[str, object]) -> RenderOptions | None:
    """Return the style of the closing line, or None for an unstyled line."""
    own = render_options_of(chosen, options)
    return own if chosen.shown == _VIEW and own.show is not Show.OBJECTS else None


def _plain_render_options(options: Options) -> RenderOptions:
    return RenderOptions(
        detailed=options["detailed_results"],
        diff=options["diff"],
        quiet=bool(options.get("quiet")),
        statistics=bool(options.get("statistics")),
        objects=not options["output"],
        lifetime=options["generated_exception_ttl"],
        show=Show(options["show"] or Show.CHANGES),
        print_aside=lambda lines: print_stderr(safe_text(lines.rstrip())),
    )
