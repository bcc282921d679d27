"""Options that several commands share."""

import csv
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import click
from click.core import ParameterSource

from kyvsim.api.inputs import walking_through
from kyvsim.cli.parameters import (
    DISTRIBUTED,
    EVALUATION,
    INPUT,
    OUTPUT,
    PERFORMANCE,
    STATUS,
    Decorator,
    Effect,
    Options,
    PathType,
    bad_value,
    combined,
    flag_option,
    option,
    safe_option,
)
from kyvsim.cli.streams import print_stderr
from kyvsim.load.folders import USUAL, Walking
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.policy import SEVERITIES, Policy
from kyvsim.model.ports import UNCHANGED, Budget
from kyvsim.model.release import NEWEST, RELEASES, Release
from kyvsim.report.style import counted, safe_line

_CLUSTER = "no cluster is queried; pass manifests with --resource"
_REGISTRY = "no registry is queried"
_GIT = "no Git server is contacted; clone the repository and pass its files"

_ONLINE = (
    (("-c", "--cluster"), True, _CLUSTER),
    (("-n", "--namespace"), False, _CLUSTER),
    (("--kubeconfig",), False, _CLUSTER),
    (("--context",), False, _CLUSTER),
    (("--cluster-wide-resources",), True, _CLUSTER),
    (("--batch-size",), False, _CLUSTER),
    (("--concurrent",), False, _CLUSTER),
    (("--continue-on-error",), True, _CLUSTER),
    (("--show-performance",), True, _CLUSTER),
    (("--registry",), True, _REGISTRY),
    (("-b", "--git-branch"), False, _GIT),
    (("--username",), False, _GIT),
    (("--password",), False, _GIT),
)
"""Options of Kyverno's command that need a server: whether they are flags, and an alternative."""

_NEEDLESS = (
    (("--continue-on-fail",), True, "kyvsim always continues after an error: remove this option"),
    (("--v", "-v"), False, "kyvsim writes no log: remove this option"),
)
"""Options of Kyverno's command that have no effect here."""

strict_option = flag_option(
    "--strict",
    shared=True,
    group=STATUS,
    help="Treat warnings about input as errors (exit status 2).",
)
fail_on_option = safe_option(
    "--fail-on",
    shared=True,
    type=click.Choice(SEVERITIES, case_sensitive=False),
    group=STATUS,
    help="Fail only for policies of at least this severity. Policies without a severity always "
    "count; other failures are only shown.",
)


def _set_colour(ctx: click.Context, _: click.Parameter, value: str | bool) -> str | bool:
    if value in {"always", "never", True}:
        ctx.color = value == "always"
    return value


colour_option = combined(
    safe_option(
        "--color",
        shared=True,
        type=click.Choice(("auto", "always", "never")),
        default="auto",
        callback=_set_colour,
        group=OUTPUT,
        help="When to use colours [default: auto, on a terminal].",
    ),
    # The name in Kyverno's command.
    flag_option(
        "--remove-color",
        shared=True,
        hidden=True,
        callback=_set_colour,
        help="Same as --color never.",
    ),
)
warn_status_option = safe_option(
    "--warn-exit-code",
    shared=True,
    type=click.IntRange(0, 255),
    default=0,
    metavar="N",
    group=STATUS,
    help="Exit status if there are warnings but no failures.",
)


def jobs_option(otherwise: str) -> Decorator:
    """Return --jobs; `otherwise` is when fewer processes are chosen than there are CPUs."""
    return safe_option(
        "-j",
        "--jobs",
        shared=True,
        type=click.IntRange(0),
        default=0,
        metavar="N",
        group=PERFORMANCE,
        help=f"Number of worker processes; 0 uses one per CPU, {otherwise} [default: 0].",
    )


def extent_options(quiet: str, verbose: str) -> Decorator:
    """Return --quiet, --verbose and --statistics, the first two with their help texts."""
    return combined(
        flag_option("-q", "--quiet", shared=True, group=OUTPUT, help=quiet),
        flag_option("--verbose", shared=True, group=OUTPUT, help=verbose),
        flag_option("--statistics", shared=True, group=OUTPUT, help="Print only counts."),
    )


def extent_of(
    options: Mapping[str, object], ctx: click.Context, wider: Iterable[str]
) -> dict[str, Any]:
    """Return options in which --verbose sets those in `wider`; raises UsageError."""
    chosen = [name for name in ("quiet", "verbose", "statistics") if options[name]]
    if len(chosen) > 1:
        names = " and ".join(f"--{name}" for name in chosen)
        raise click.UsageError(f"{names} cannot be combined: choose one of them", ctx)
    return {**options, **dict.fromkeys(wider if options["verbose"] else (), True)}


def at_commas(ctx: click.Context, param: click.Parameter, values: Sequence[str]) -> tuple[str, ...]:
    """Return the parts of all values; the callback of options that split at commas.

    A string in a configuration is one value; several values are a list.
    """
    if ctx.get_parameter_source(param.name or "") is ParameterSource.DEFAULT_MAP:
        return tuple(filter(None, values))
    return tuple(part for value in values for part in split_at_commas(value) if part)


def split_at_commas(value: str) -> list[str]:
    """Return the parts of a value; quoted commas do not split it."""
    return next(csv.reader([value])) if '"' in value else value.split(",")


def list_option(*names: str, effect: Effect = Effect.NONE, **settings: Any) -> Decorator:
    """Return a repeatable option whose values are split at commas, as a tuple."""
    return option(*names, effect=effect, multiple=True, callback=at_commas, **settings)


def paths_option(*names: str, group: str = INPUT, **settings: Any) -> Decorator:
    """Return a repeatable option for input paths, whose values are split at commas."""
    return list_option(*names, type=PathType(), group=group, **settings)


def resource_option(text: str, *, shared: bool = False) -> Decorator:
    """Return --resource with its help text."""
    names = ("-r", "--resource", "--resources")
    return paths_option(*names, shared=shared, help=text)


def exception_option(text: str = "PolicyExceptions.", *, shared: bool = False) -> Decorator:
    """Return --exception with its help text."""
    names = ("-e", "--exception", "--exceptions")
    text = f"{text} Repeatable."
    return paths_option(*names, shared=shared, help=text)


def crd_option(*names: str, shared: bool = False) -> Decorator:
    """Return the option for CustomResourceDefinitions, with its spellings."""
    text = "CustomResourceDefinitions. Repeatable."
    return paths_option(*names, shared=shared, help=text)


def file_option(*names: str, group: str = INPUT, **settings: Any) -> Decorator:
    """Return an option for the path of a single input file."""
    return safe_option(*names, default="", type=PathType(), group=group, **settings)


def force_option(text: str) -> Decorator:
    """Return --force with its help text."""
    return option("--force", effect=Effect.OVERWRITES, is_flag=True, group=OUTPUT, help=text)


budget_option = list_option(
    "--budget",
    shared=True,
    metavar="NAME=N",
    group=PERFORMANCE,
    help="Limit evaluation steps (rule=N, resource=N, run=N; 0: unlimited). Repeatable.",
)


def budget_of(given: tuple[str, ...], ctx: click.Context, usual: Budget = UNCHANGED) -> Budget:
    """Return the budget changed by `NAME=N`; raises UsageError."""
    limits: dict[str, int] = {}
    for value in given:
        name, _, number = value.partition("=")
        if name not in Budget._fields or not (number.isascii() and number.isdigit()):
            known = ", ".join(f"{field}=N" for field in Budget._fields)
            raise bad_value(ctx, "--budget", f"{value}: not one of {known}")
        limits[name] = int(number[:18])
    return usual._replace(**limits)


def model_option(ending: str = ".", **settings: Any) -> Decorator:
    """Return --model with its help text."""
    return safe_option(
        "--model",
        type=click.Choice(("kyverno-1.19", "background-gates-generate")),
        group=EVALUATION,
        help="Kyverno behaviour to emulate; `background-gates-generate` shows what would happen "
        f"if `background: false` disabled generate rules for new objects{ending}",
        **settings,
    )


def release_option(usual: Release | None = NEWEST) -> Decorator:
    """Return --kyverno, whose value is a Release; `usual` is None if a file may name one, too."""
    ending = f"{usual}" if usual else f"{NEWEST}, or as in the scenario"
    return safe_option(
        "--kyverno",
        "release",
        shared=True,
        type=click.Choice(tuple(RELEASES)),
        default=usual.name if usual else None,
        callback=lambda _ctx, _param, value: RELEASES.get(value),
        group=EVALUATION,
        help=f"Release of Kyverno to emulate [default: {ending}].",
    )


warnings_as_errors_option = flag_option(
    "--warnings-as-errors",
    group=STATUS,
    help="Fail with status 1 if the emulated release reports a policy kind as deprecated.",
)


def case_limits(of: str = "") -> Decorator:
    """Return --max-cases and --seconds, the limits of a comparison, or of each `of` some."""
    return combined(
        safe_option(
            "--max-cases",
            type=click.IntRange(1),
            default=10_000,
            show_default=True,
            metavar="N",
            group=PERFORMANCE,
            help=f"Maximum number of cases{of}; what they do not show is not covered.",
        ),
        seconds_option(
            None,
            f"Maximum processor time{of}, in seconds [default: no limit]. With it, answers "
            "depend on the speed of the machine.",
        ),
    )


def seconds_option(usual: int | None, text: str) -> Decorator:
    """Return --seconds with its help text; --budget is rejected with a hint."""
    return combined(
        safe_option(
            "--seconds",
            type=click.IntRange(1),
            default=usual,
            show_default=True,
            metavar="N",
            group=PERFORMANCE,
            help=text,
        ),
        _refused(
            ("--budget",),
            False,
            "--budget limits evaluation steps; use --seconds N to limit time here",
        ),
    )


def time_option(ctx: click.Context, param: click.Parameter, value: str | None) -> datetime | None:
    """Return the time of an option in UTC, or None."""
    if value is None:
        return None
    try:
        time = datetime.fromisoformat(value)
    except ValueError:
        time = None
    if time is None or time.tzinfo is None:
        text = f"{value}: not a time such as 2026-01-31T08:00:00Z"
        raise bad_value(ctx, param.opts[-1], text)
    return time.astimezone(UTC)


def refused_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add known options that cannot be supported; each reports the reason."""
    function = offline_options(*(names[-1] for names, _, _ in _ONLINE))(function)
    for names, bare, reason in _NEEDLESS:
        function = _refused(names, bare, f"{names[-1]}: {reason}")(function)
    return function


def offline_options(*names: str) -> Decorator:
    """Return a decorator that adds and rejects options of Kyverno's command that need a server."""
    return combined(
        *(
            _refused(spelled, bare, f"kyvsim works offline: {spelled[-1]}: {reason}")
            for spelled, bare, reason in reversed(_ONLINE)
            if spelled[-1] in names
        )
    )


def refuse_urls(paths: Iterable[str], ctx: click.Context) -> None:
    """Raise UsageError for a URL."""
    for path in paths:
        if path.startswith(("http://", "https://")):
            raise click.UsageError(f"kyvsim works offline: download {path} and pass the files", ctx)


def _refused(names: tuple[str, ...], is_flag: bool, message: str) -> Decorator:
    def refuse(ctx: click.Context, param: click.Parameter, value: object) -> None:
        del param
        if value:
            raise click.UsageError(message, ctx)

    return safe_option(
        *names,
        is_flag=is_flag,
        expose_value=False,
        hidden=True,
        callback=refuse,
        is_eager=True,
        help=message,
    )


def _bytes(ctx: click.Context, param: click.Parameter, value: str | None) -> int:
    if value is None:
        return 0
    match = re.fullmatch(r"(\d+) ?([kmg]?)(?:i?b)?", value.strip().lower())
    size = int(match[1]) << 10 * " kmg".index(match[2] or " ") if match else 0
    if not size:
        raise bad_value(ctx, param.opts[-1], f"{value}: not a size such as 8MB")
    return size


fleet_options = combined(
    option(
        "--engine",
        effect=Effect.RUNS,
        type=click.Choice(("processes", "dask")),
        group=DISTRIBUTED,
        help="Distribute the run over --jobs processes or over the workers of a Dask --scheduler.",
    ),
    option(
        "--scheduler",
        effect=Effect.CONNECTS,
        default="",
        metavar="ADDRESS",
        group=DISTRIBUTED,
        help="Address of the Dask scheduler.",
    ),
    option(
        "--partials",
        effect=Effect.WRITES_NEW,
        default="",
        metavar="PATH",
        type=PathType(is_written=True),
        group=DISTRIBUTED,
        help="Write partial reports to this folder or URL and print only counts.",
    ),
    safe_option(
        "--partials-format",
        type=click.Choice(("jsonl", "parquet")),
        group=DISTRIBUTED,
        help="Format of the partial reports [default: jsonl].",
    ),
    option(
        "--resume",
        effect=Effect.OVERWRITES,
        is_flag=True,
        group=DISTRIBUTED,
        help="Continue an interrupted run from its --partials.",
    ),
    safe_option(
        "--cluster-per",
        type=click.Choice(("file", "folder", "all")),
        group=DISTRIBUTED,
        help="Treat each file, each folder or all input as one cluster; lookups see only objects "
        "of the same cluster [default: file].",
    ),
    safe_option(
        "--piece-size",
        callback=_bytes,
        metavar="SIZE",
        group=DISTRIBUTED,
        help="Split large files into tasks of this size [default: 8MB].",
    ),
)


def is_distributed(options: Mapping[str, object]) -> bool:
    """Return whether an option for distributed runs is set."""
    names = ("engine", "scheduler", "partials", "partials_format", "resume", "cluster_per")
    return any(options[name] for name in (*names, "piece_size"))


walking_options = combined(
    safe_option(
        "--exclude",
        shared=True,
        multiple=True,
        metavar="GLOB",
        group=INPUT,
        help="Skip files and folders that match GLOB (.gitignore syntax). Repeatable.",
    ),
    flag_option("--no-ignore", shared=True, group=INPUT, help="Ignore .kyvsimignore files."),
    safe_option(
        "--max-files",
        shared=True,
        type=click.IntRange(0),
        default=USUAL.most,
        show_default=True,
        metavar="N",
        group=INPUT,
        help="Maximum number of files and folders read per path (0: unlimited).",
    ),
    flag_option(
        "--show-ignored",
        shared=True,
        group=OUTPUT,
        help="List ignored files and documents and why they were ignored.",
    ),
)


def walking_of(options: Options, ctx: click.Context) -> Walking:
    """Return the settings for walking through folders; raises UsageError."""
    try:
        return walking_through(
            options["exclude"], ignore_files=not options["no_ignore"], most=options["max_files"]
        )
    except ValueError as error:
        raise bad_value(ctx, "--exclude", f"{' '.join(options['exclude'])}: {error}") from None


def print_evaluated_files(policies: Iterable[Policy]) -> None:
    """Print the files of the policies, with their number."""
    counts = Counter(policy.document.file for policy in policies)
    for file, number in counts.items():
        print_stderr(safe_line(f"{file}: read: {counted(number, 'policy')}"))


def print_ignored(left_out: Iterable[Diagnostic], options: Mapping[str, object]) -> None:
    """Print the ignored files and documents if --show-ignored is given."""
    for folder in dict.fromkeys(left_out) if options["show_ignored"] else ():
        print_stderr(safe_line(f"{folder.location}: ignored: {folder.message}"))
