"""`kyvsim apply`: policies over resources."""

import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from kyvsim.api import ApplyInputs, open_application
from kyvsim.cli import declared
from kyvsim.cli.apply_formats import chosen_by, is_for_people, shown_pieces, streams, teller
from kyvsim.cli.apply_jobs import run_in_blocks
from kyvsim.cli.closing import LineCount, close, remind
from kyvsim.cli.options import (
    fleet_options,
    is_spread,
    jobs_option,
    list_option,
    refuse_urls,
    refused_options,
    strict_option,
    time_option,
)
from kyvsim.cli.report_files import Chosen, ReportFiles, formats_option
from kyvsim.cli.stdin import stdin_of
from kyvsim.cli.streams import is_terminal, say, write_out
from kyvsim.cli.walking import say_left_out, walking_of, walking_options
from kyvsim.model.diagnostic import Diagnostic, strictly
from kyvsim.model.payload import PayloadMode
from kyvsim.model.result import EngineResponse
from kyvsim.report.run import Run, Terms
from kyvsim.report.run_ending import run_ending
from kyvsim.report.run_formats import FORMATS
from kyvsim.report.style import safe_line

if TYPE_CHECKING:
    from kyvsim.cli.output_files import ObjectFiles

_MODELS = ("kyverno-1.19", "background-gates-generate")
_FILES = (
    "policies",
    "resource",
    "target_resource",
    "parameter_resource",
    "exception",
    "crd_paths",
    "values_file",
    "userinfo",
    "context_file",
)
_FORMAT_NAMES = frozenset({*FORMATS, "yml", "wide", "name"})
"""What nobody calls a file for changed objects."""


_HELP = """Apply policies to resources and show what they do.

POLICY is a file, a folder or - for standard input.

\b
    kyvsim apply policies/ --resource pods.yaml
    kubectl get pods -o yaml | kyvsim apply policies/ -r -
"""


@declared.command(
    spelled_as_in_go=True,
    help=_HELP,
    epilog="Exit status: 0 nothing failed, 1 a rule failed or ended in error, 2 some input could "
    "not be used.",
)
@declared.argument("policies", nargs=-1, metavar="POLICY...")
@list_option("-r", "--resource", "--resources", help="Resource files, folders or - for stdin.")
@list_option(
    "--target-resource",
    "--target-resources",
    help="Existing objects that mutate rules may change on behalf of a resource.",
)
@list_option(
    "--parameter-resource",
    "--parameter-resources",
    help="Parameters of Kubernetes' admission policies.",
)
@list_option("-e", "--exception", "--exceptions", help="Policy exceptions.")
@declared.option("-f", "--values-file", default="", help="Values for the policies' variables.")
@list_option("-s", "--set", "set_values", help="Values as name=value.")
@declared.option("-u", "--userinfo", default="", help="File that says who sends the requests.")
@declared.option("--context-file", default="", help="Context data for CEL policies.")
@list_option("--json", "json_files", help="JSON or YAML files that policies of mode JSON judge.")
@list_option("--http-payload", help="JSON files with requests that policies of mode HTTP judge.")
@list_option("--envoy-payload", help="JSON files with requests that policies of mode Envoy judge.")
@list_option("--crd-paths", "--crd-path", help="Definitions of custom resources.")
@declared.option(
    "--exceptions-with-resources",
    "--exceptions-within-resources",
    is_flag=True,
    help="Take policy exceptions out of the resource files too.",
)
@declared.option(
    "--exceptions-within-policies",
    is_flag=True,
    help="Take policy exceptions out of the policy files too.",
)
@declared.option(
    "--model",
    type=declared.Choice(_MODELS),
    default=_MODELS[0],
    show_default=True,
    help="Whose reading of the policies to follow.",
)
@declared.option(
    "-o",
    "--output",
    default="",
    help="File (.yaml) or folder for changed objects. No format: that is --output-format here.",
)
@formats_option(FORMATS, short=False)
@declared.option("-p", "--policy-report", is_flag=True, help="Print a policy report.")
@declared.option("-t", "--table", is_flag=True, help="Print the results as a table.")
@declared.option("--detailed-results", is_flag=True, help="Show passed and skipped rules too.")
@declared.option(
    "--explain", is_flag=True, help="Show how each rule came to its verdict, as `explain` does."
)
@declared.option("--diff", is_flag=True, help="Show only the changed parts of mutated resources.")
@declared.option(
    "-i", "--stdin", is_flag=True, help="Print only the mutated resources, to pipe into kubectl."
)
@declared.option(
    "--check-idempotent",
    is_flag=True,
    help="Run the mutate rules twice; what changes again counts as a failure.",
)
@declared.option(
    "--now",
    callback=time_option,
    help="The current time (RFC 3339) for policies and schedules; the machine's by default.",
)
@strict_option
@walking_options
@jobs_option
@fleet_options
@declared.option("--remove-color", is_flag=True, help="Print without colours.")
@declared.option("--audit-warn", is_flag=True, help="Count failures of Audit policies as warnings.")
@declared.option(
    "--warn-exit-code",
    type=declared.IntRange(0, 255),
    default=0,
    help="Exit status when there are warnings and nothing worse.",
)
@declared.option(
    "--warn-no-pass", is_flag=True, help="Exit with --warn-exit-code when nothing passed."
)
@refused_options
@declared.pass_call
def command(call: declared.Call, /, **options: Any) -> int:
    """Run `kyvsim apply` and return its exit status."""
    _check(call, options)
    chosen = chosen_by(options, call)
    if is_spread(options):
        from kyvsim.cli.fleet_checks import check_fleet  # noqa: PLC0415 — for such runs only

        check_fleet(options, chosen, call)
    inputs = inputs_of(options)._replace(walking=walking_of(options, call))
    stdin = stdin_for(options, call)
    if options["explain"]:
        from kyvsim.cli.explain_run import explain_applied  # noqa: PLC0415 — slow, seldom asked for

        return explain_applied(inputs, stdin, options, call)
    if is_spread(options):
        from kyvsim.cli.apply_fleet import apply_fleet  # noqa: PLC0415 — for such runs only

        return apply_fleet(inputs, stdin, options, chosen)
    files = _object_files(options["output"])
    try:
        with ReportFiles(path for _, path in chosen.files) as reports:
            return _apply((inputs, stdin), options, chosen, (files, reports))
    finally:
        if files:
            files.discard()


def _object_files(path: str) -> "ObjectFiles | None":
    if not path:
        return None
    from kyvsim.cli.output_files import ObjectFiles  # noqa: PLC0415 — slow, seldom asked for

    return ObjectFiles(path)


def _apply(
    given: tuple[ApplyInputs, bytes | None],
    options: Mapping[str, Any],
    chosen: Chosen,
    outputs: tuple["ObjectFiles | None", ReportFiles],
) -> int:
    files, reports = outputs
    run = run_in_blocks(*given, options["jobs"], teller(chosen, options))
    if run is None:
        run = _opened(*given)
    run = run._replace(terms=Terms(options["warn_exit_code"], options["warn_no_pass"]))
    if options["strict"]:
        run = _strict(run)
    _say_remarks(run.diagnostics)
    say_left_out(run.left_out, options)
    responses = _watched(run, chosen)
    run = run._replace(responses=files.saving(responses) if files else responses)
    lines = LineCount()
    write_out(lines.watching(shown_pieces(run, chosen, options, reports)))
    reports.commit()
    if files:
        say(f"wrote {files.commit()} to {safe_line(options['output'])}")
    _say_remarks(run.last_remarks())
    ending = run_ending(run)
    if is_for_people(chosen):
        remind(run.diagnostics, lines)
    close(ending, on_stdout=is_for_people(chosen))
    return ending.status


def _opened(inputs: ApplyInputs, stdin: bytes | None) -> Run:
    if not is_terminal(sys.stderr):
        return open_application(inputs, stdin)
    from kyvsim.report.progress import waiting  # noqa: PLC0415 — for terminals only

    with waiting("reading files", shown=True):
        return open_application(inputs, stdin)


def _say_remarks(remarks: tuple[Diagnostic, ...]) -> None:
    if remarks:
        from kyvsim.report.remark_text import remark_text  # noqa: PLC0415 — where there are some

        for entry in remarks:
            say(remark_text(entry))


def _payloads(options: Mapping[str, Any]) -> tuple[tuple[PayloadMode, str], ...]:
    sorts = (
        (PayloadMode.JSON, "json_files"),
        (PayloadMode.HTTP, "http_payload"),
        (PayloadMode.ENVOY, "envoy_payload"),
    )
    return tuple((mode, path) for mode, name in sorts for path in options[name])


def _strict(run: Run) -> Run:
    """Return a run in which every warning is an error."""
    later = run.afterthoughts
    return run._replace(
        diagnostics=strictly(run.diagnostics),
        afterthoughts=lambda matched: strictly(later(matched)),
    )


def _check(call: declared.Call, options: Mapping[str, Any]) -> None:
    """Raise UsageError for arguments that do not go together.

    upstream: cmd/cli/kubectl-kyverno/commands/apply/command.go
    """
    policies, resources = options["policies"], options["resource"]
    if options["values_file"] and options["set_values"]:
        raise declared.UsageError("pass values with either --set or --values-file, not both", call)
    if not policies:
        raise declared.UsageError("no policy given: pass files or folders of policies", call)
    if resources and options["json_files"]:
        text = "pass either resources or payloads (--json), not both: run kyvsim once for each"
        raise declared.UsageError(text, call)
    if not resources and not _payloads(options):
        raise declared.UsageError(
            "no resource given: pass manifests with --resource PATH (- for standard input)", call
        )
    if options["warn_no_pass"] and not options["warn_exit_code"]:
        text = "--warn-no-pass does nothing without a status: give --warn-exit-code N too"
        raise declared.UsageError(text, call)
    refuse_urls(
        (*policies, *resources, *options["target_resource"], *options["parameter_resource"]), call
    )
    if options["output"] in _FORMAT_NAMES:
        name = options["output"]
        raise declared.UsageError(
            f"-o {name}: -o names a file or folder for changed objects; formats are chosen with "
            f"--output-format (for a folder of that name: -o ./{name})",
            call,
        )
    for pair in options["set_values"]:
        name, _, value = pair.partition("=")
        if not name or not value or "=" in value:
            raise declared.UsageError(f"--set {pair}: not of the form name=value", call)


def stdin_for(options: Mapping[str, Any], call: declared.Call) -> bytes | None:
    """Return standard input, if one of the paths asks for it."""
    return stdin_of({name: options[name] for name in _FILES}, call)


def inputs_of(options: Mapping[str, Any]) -> ApplyInputs:
    """Return what the options say is to be read."""
    return ApplyInputs(
        policies=options["policies"],
        resources=options["resource"],
        targets=options["target_resource"],
        parameters=options["parameter_resource"],
        exceptions=options["exception"],
        values_file=options["values_file"],
        set_values=options["set_values"],
        userinfo=options["userinfo"],
        context_file=options["context_file"],
        crd_paths=options["crd_paths"],
        model=options["model"],
        exceptions_with_resources=options["exceptions_with_resources"],
        exceptions_within_policies=options["exceptions_within_policies"],
        audit_warn=options["audit_warn"],
        check_idempotent=options["check_idempotent"],
        payloads=_payloads(options),
        now=options["now"],
    )


def _watched(run: Run, chosen: Chosen) -> Iterator[EngineResponse]:
    """Return the responses, with a progress bar where one shows and disturbs nothing."""
    if is_terminal(sys.stderr) and not (streams(chosen) and is_terminal(sys.stdout)):
        from kyvsim.report.progress import with_progress  # noqa: PLC0415 — for terminals only

        return with_progress(run.responses, run.resource_count, "applying")
    return run.responses
