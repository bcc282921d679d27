"""Options of `kyvsim test` on coverage and mutants, where reports go, and what is enough."""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any, NamedTuple

import click

from kyvsim.cli.options import seconds_option
from kyvsim.cli.parameters import (
    COVERAGE,
    Decorator,
    Effect,
    PathType,
    combined,
    option,
    safe_option,
)
from kyvsim.cli.percent import percent_option
from kyvsim.cli.report_files import chosen_files, write_reports
from kyvsim.cli.streams import print_stderr
from kyvsim.model.suite import SuiteOutcome
from kyvsim.model.tracing import Coverage
from kyvsim.report.coverage import percent_text
from kyvsim.report.formats import COVERAGE_FORMATS
from kyvsim.report.suite_text import reaches_enough

_SECONDS = 120


class CoverageOptions(NamedTuple):
    """What is asked for."""

    wanted: bool
    files: tuple[tuple[str, str], ...]
    """Formats and the files that they go to."""
    threshold: Decimal
    """Percent; 0 where nothing is asked for."""


def coverage_options() -> Decorator:
    """Return the options, of which each asks for coverage."""
    return combined(
        safe_option(
            "--coverage",
            is_flag=True,
            group=COVERAGE,
            help="Show rules, branches and outcomes that no row reached.",
        ),
        option(
            "--coverage-report",
            effect=Effect.WRITES_FILE,
            multiple=True,
            metavar="FORMAT=FILE",
            type=PathType(separator="=", offered=tuple(COVERAGE_FORMATS)),
            group=COVERAGE,
            help=f"Write coverage to a file: {', '.join(COVERAGE_FORMATS)}. Repeatable.",
        ),
        safe_option(
            "--coverage-threshold",
            metavar="PERCENT",
            callback=percent_option,
            group=COVERAGE,
            help="Fail if total coverage is lower.",
        ),
    )


def chosen_coverage(options: Mapping[str, Any], ctx: click.Context) -> CoverageOptions:
    """Return what the options ask for; raise UsageError where they name no format and file."""
    files = chosen_files(options["coverage_report"], COVERAGE_FORMATS, "--coverage-report", ctx)
    threshold = options["coverage_threshold"]
    wanted = options["coverage"] or bool(files) or threshold is not None
    return CoverageOptions(wanted, files, threshold or Decimal())


def wants_coverage(options: Mapping[str, Any]) -> bool:
    """Return whether one of the options is given."""
    names = ("coverage", "coverage_report", "coverage_threshold")
    return any(options[name] not in {False, (), None} for name in names)


def write_coverage(coverage: Coverage, wish: CoverageOptions) -> Iterator[str]:
    """Write the files that are asked for; return the text that is shown."""
    write_reports(
        (path, COVERAGE_FORMATS[name].media, COVERAGE_FORMATS[name].write(coverage))
        for name, path in wish.files
    )
    shown: Iterator[str] = COVERAGE_FORMATS["text"].write(coverage)
    return shown


def report_if_too_low(outcome: SuiteOutcome) -> None:
    """Say what was reached where that is less than what is asked for."""
    if outcome.coverage is not None and not reaches_enough(outcome):
        told = percent_text(outcome.coverage.ratio).lstrip()
        print_stderr(f"error: coverage is below {outcome.demands.coverage}%: {told}")


class MutationOptions(NamedTuple):
    """What is asked for."""

    wanted: bool
    score: Decimal
    """Percent; 0 where nothing is asked for."""
    seconds: float


def mutants_options() -> Decorator:
    """Return the options; a least score asks for mutants, too."""
    return combined(
        safe_option(
            "--mutants",
            is_flag=True,
            group=COVERAGE,
            help="Mutation testing: show changes to the policies that no test detects.",
        ),
        safe_option(
            "--min-score",
            metavar="PERCENT",
            callback=percent_option,
            group=COVERAGE,
            help="Fail if the tests detect fewer mutants.",
        ),
        seconds_option(
            _SECONDS, "Time limit of --mutants in seconds; the mutants left are counted."
        ),
    )


def chosen_mutants(options: Mapping[str, Any], ctx: click.Context) -> MutationOptions:
    """Return what the options ask for; raise UsageError where another one does not go with it."""
    wanted = wants_mutants(options)
    if wanted and options["update"]:
        text = "--mutants does not go with --update: what is written would depend on the mutant"
        raise click.UsageError(text, ctx)
    return MutationOptions(wanted, options["min_score"] or Decimal(), options["seconds"])


def wants_mutants(options: Mapping[str, Any]) -> bool:
    """Return whether one of the options is given."""
    return any(options[name] not in {False, None} for name in ("mutants", "min_score"))
