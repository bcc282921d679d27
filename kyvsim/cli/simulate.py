"""`kyvsim simulate`: policies on a simulated cluster, over virtual time."""

import json
import shutil
import sys
from collections.abc import Iterator
from typing import Any

import click

from kyvsim.api.explain import NotFoundError
from kyvsim.api.simulate import SimulateInputs, scenario_json_schema, simulate
from kyvsim.cli.command import Command
from kyvsim.cli.options import (
    budget_of,
    budget_option,
    colour_option,
    exception_option,
    jobs_option,
    model_option,
    paths_option,
    print_ignored,
    refuse_urls,
    release_option,
    resource_option,
    time_option,
    walking_of,
    walking_options,
)
from kyvsim.cli.output_files import chosen_formats, formats_option, refuse_named, write_reports
from kyvsim.cli.parameters import (
    EVALUATION,
    OUTPUT,
    REQUEST,
    STATUS,
    Options,
    PathType,
    argument,
    bad_value,
    flag_option,
    safe_option,
)
from kyvsim.cli.streams import (
    OK,
    close,
    is_terminal,
    print_diagnostics,
    shows_colours,
    stdin_of,
    with_growing_progress,
    write_out,
)
from kyvsim.kubernetes.quantities import SECOND, parse_duration
from kyvsim.model.ports import SIMULATED
from kyvsim.model.simulation import HazardLevel, ScenarioSettings
from kyvsim.report.formats import JSON
from kyvsim.report.formats import TIMELINE_FORMATS as FORMATS
from kyvsim.report.timeline_rows import (
    NO_LEVEL,
    NOT_BEGUN,
    SimulationTerms,
    TimelineOptions,
    simulation_ending,
)
from kyvsim.simulator.exploration import Order

_LEVELS = (*(level.value for level in HazardLevel), NO_LEVEL)
_WIDEST = 160

_HELP = """Run policies on a simulated cluster and show what happens over time.

POLICY is a policy file, a folder, - for standard input, or a scenario file that lists all inputs.
Time is simulated, so a run never waits.

\b
    kyvsim simulate policies/ --resource pods.yaml
    kyvsim simulate scenario.yaml --output-format text --output-format html=timeline.html
    kyvsim simulate old/ --compare new/ --resource pods.yaml --output-format html > both.html
"""


def _duration(ctx: click.Context, param: click.Parameter, value: str | None) -> float | None:
    if value is None:
        return None
    nanoseconds = parse_duration(value)
    if nanoseconds is None or nanoseconds < 0:
        raise bad_value(ctx, param.opts[-1], f"{value}: not a time such as 90s or 2m")
    return nanoseconds / SECOND


def _interleavings(ctx: click.Context, param: click.Parameter, value: str) -> int | None:
    if value == "all":
        return None
    if not value.isascii() or not value.isdigit() or int(value) == 0:
        raise bad_value(ctx, param.opts[-1], f"{value}: must be a positive number or `all`")
    return int(value)


@click.command(
    "simulate",
    cls=Command,
    go_spelling=True,
    help=_HELP,
    epilog="Exit status: 0 if all expectations were met, 1 if an expectation failed or a hazard of "
    "the --fail-on level or higher was found, 2 if some input could not be used or a run was "
    "aborted.",
)
@argument("paths", nargs=-1, metavar="POLICY...", type=PathType(), key="policies")
@resource_option("Resources to create, in order; - for standard input. Repeatable.")
@paths_option(
    "--object",
    "--objects",
    help="Objects that exist before the policies, such as Roles. Repeatable.",
)
@exception_option()
@safe_option(
    "--as",
    "user",
    default="",
    metavar="USER",
    group=REQUEST,
    help="User that creates the resources [default: cluster admin].",
)
@safe_option(
    "--as-group",
    "groups",
    multiple=True,
    metavar="GROUP",
    group=REQUEST,
    help="Group of the --as user. Repeatable.",
)
@release_option(None)
@model_option(" [default: kyverno-1.19, or as in the scenario].")
@safe_option(
    "--install",
    metavar="helm|ci|FILE",
    type=PathType(words=("helm", "ci")),
    group=EVALUATION,
    help="Kyverno installation: `helm` (chart defaults), `ci` (as in Kyverno's end-to-end "
    "tests) or a values FILE [default: helm, or as in the scenario].",
)
@safe_option(
    "--seed",
    type=click.IntRange(0),
    metavar="N",
    group=EVALUATION,
    help="Seed for generated uids and names.",
)
@safe_option(
    "--start",
    "start",
    callback=time_option,
    metavar="TIME",
    group=EVALUATION,
    help="Virtual start time, in RFC 3339 format.",
)
@safe_option(
    "--horizon",
    callback=_duration,
    metavar="DURATION",
    group=EVALUATION,
    help="Virtual time to simulate after the last step [default: 60s].",
)
@safe_option(
    "--max-events",
    type=click.IntRange(1),
    metavar="N",
    group=EVALUATION,
    help=f"Abort with an error after N events [default: {ScenarioSettings().max_events}].",
)
@budget_option
@safe_option(
    "--interleavings",
    metavar="N|all",
    callback=_interleavings,
    default="1",
    group=EVALUATION,
    help="Run up to N orders of concurrent steps, or `all` with at most two reorderings "
    "[default: 1].",
)
@jobs_option("with --interleavings only")
@paths_option(
    "--compare",
    group=EVALUATION,
    help="Run these policies (or this scenario) as well and compare the results with those of "
    "POLICY.",
)
@safe_option(
    "--explain",
    metavar="OBJECT",
    default="",
    group=OUTPUT,
    help="Show when each policy evaluated OBJECT and why the policy acted or not. OBJECT is NAME, "
    "KIND/NAME or NAMESPACE/KIND/NAME.",
)
@formats_option(FORMATS)
@safe_option(
    "--fail-on",
    type=click.Choice(_LEVELS),
    group=STATUS,
    help="Exit with status 1 for hazards of this level or higher [default: error, or as in "
    "the scenario].",
)
@flag_option("--all", "--details", "every", group=OUTPUT, help="Also show internal events.")
@walking_options
@colour_option
@flag_option("--schema", group=OUTPUT, help="Print the JSON Schema of scenario files.")
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> int:
    """Run `kyvsim simulate` and return its exit status."""
    if options["schema"]:
        write_out([json.dumps(scenario_json_schema(), indent=2), "\n"], JSON)
        return OK
    if not options["paths"]:
        raise click.UsageError("no policy or scenario given: pass files or folders", ctx)
    if options["compare"] and options["interleavings"] != 1:
        text = "--compare cannot be combined with --interleavings: it compares one run of each"
        text += " policy set"
        raise click.UsageError(text, ctx)
    others = (options["compare"], "--compare"), (options["interleavings"] != 1, "--interleavings")
    for is_given, name in others if options["explain"] else ():
        if is_given:
            text = f"--explain cannot be combined with {name}: it explains one run"
            raise click.UsageError(text, ctx)
    given = ("paths", "compare", "resource", "exception", "object")
    refuse_urls([path for name in given for path in options[name]], ctx)
    chosen = chosen_formats(options, FORMATS, ctx)
    inputs = _inputs(options, ctx)
    most = float("inf") if options["interleavings"] is None else options["interleavings"]

    def watched(orders: Iterator[Order]) -> Iterator[Order]:
        if most == 1 or not is_terminal(sys.stderr):
            return orders
        return with_growing_progress(
            orders, lambda one, number: int(min(most, number + one.waiting)), "trying interleavings"
        )

    stdin = stdin_of({name: options[name] for name in given}, ctx)
    try:
        done = simulate(inputs, stdin, watched)
    except NotFoundError as error:
        print_diagnostics(error.diagnostics)
        raise click.UsageError(str(error), ctx) from None
    print_diagnostics(done.diagnostics)
    print_ignored(done.left_out, options)
    least = options["fail_on"] or done.fail_on or HazardLevel.ERROR.value
    terms = SimulationTerms(done.diagnostics, len(set(done.left_out)), least)
    simulation = done.simulation or NOT_BEGUN
    refuse_named(chosen.files, done.files, ctx)
    width = min(shutil.get_terminal_size().columns, _WIDEST)
    timeline_options = TimelineOptions(every=options["every"], width=width, terms=terms)
    write_reports(
        (path, FORMATS[name].media, FORMATS[name].write(simulation, timeline_options))
        for name, path in chosen.files
    )
    shown = FORMATS[chosen.shown]
    write_out(
        shown.write(simulation, timeline_options._replace(colours=shows_colours())), shown.media
    )
    ending = simulation_ending(simulation, terms)
    close(ending, on_stdout=chosen.shown == "text")
    return ending.status


def _inputs(options: Options, ctx: click.Context) -> SimulateInputs:
    same = (
        *(
            "paths",
            "user",
            "groups",
            "model",
            "release",
            "seed",
            "install",
            "start",
            "horizon",
            "max_events",
        ),
        *("interleavings", "jobs", "explain"),
    )
    return SimulateInputs(
        **{name: options[name] for name in same},
        resources=options["resource"],
        exceptions=options["exception"],
        objects=options["object"],
        compared=options["compare"],
        budget=budget_of(options["budget"], ctx, SIMULATED),
        walking=walking_of(options, ctx),
    )
