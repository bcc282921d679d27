"""Options that commands share: lists split at commas, flags of the online half."""

import csv
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import click
from click.core import ParameterSource

from kyvsim.api.inputs import walking_through
from kyvsim.cli.parameters import (
    DISTRIBUTED,
    INPUT,
    OUTPUT,
    PERFORMANCE,
    STATUS,
    Decorator,
    Effect,
    PathType,
    bad_value,
    combined,
    option,
    safe_option,
)
from kyvsim.cli.streams import print_stderr
from kyvsim.load.folders import USUAL, Walking
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.policy import SEVERITIES, Policy
from kyvsim.model.ports import UNCHANGED, Budget
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
"""Flags of the reference that need a server: whether they are bare, and what to do without."""

_NEEDLESS = (
    (("--continue-on-fail",), True, "kyvsim always continues after an error: remove this option"),
    (("--v", "-v"), False, "kyvsim writes no log: remove this option"),
)
"""Flags of the reference that would change nothing here."""


strict_option = safe_option(
    "--strict",
    shared=True,
    is_flag=True,
    group=STATUS,
    help="Treat warnings about input as errors (exit status 2).",
)
fail_on_option = safe_option(
    "--fail-on",
    shared=True,
    type=click.Choice(SEVERITIES, case_sensitive=False),
    group=STATUS,
    help="Fail only for policies of this severity or higher, or without a severity; other "
    "failures are still shown.",
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
    # What the reference calls it.
    safe_option(
        "--remove-color",
        shared=True,
        is_flag=True,
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
jobs_option = safe_option(
    "-j",
    "--jobs",
    shared=True,
    type=click.IntRange(0),
    default=0,
    metavar="N",
    group=PERFORMANCE,
    help="Number of worker processes (0: one per CPU, for large inputs).",
)
extent_options = combined(
    safe_option(
        "-q",
        "--quiet",
        shared=True,
        is_flag=True,
        group=OUTPUT,
        help="Show only failures.",
    ),
    safe_option(
        "--verbose",
        shared=True,
        is_flag=True,
        group=OUTPUT,
        help="Also show passed rules, input files and ignored files.",
    ),
    safe_option(
        "--statistics",
        shared=True,
        is_flag=True,
        group=OUTPUT,
        help="Print only counts.",
    ),
)
"""Options on how much is shown; `extent_of` reads them."""


def extent_of(
    options: Mapping[str, Any], ctx: click.Context, wider: Iterable[str]
) -> dict[str, Any]:
    """Return options in which --verbose asks for what `wider` names, too.

    Raises UsageError where options on how much is shown contradict.
    """
    asked = [one for one in ("quiet", "verbose", "statistics") if options[one]]
    if len(asked) > 1:
        names = " and ".join(f"--{one}" for one in asked)
        raise click.UsageError(f"{names} cannot be combined: choose one of them", ctx)
    return {**options, **dict.fromkeys(wider if options["verbose"] else (), True)}


def at_commas(ctx: click.Context, param: click.Parameter, values: Sequence[str]) -> tuple[str, ...]:
    """Return the parts of all values: the callback of options that split theirs at commas.

    A text in a configuration is one value, with its commas: a list has several there.
    """
    if ctx.get_parameter_source(param.name or "") is ParameterSource.DEFAULT_MAP:
        return tuple(filter(None, values))
    return tuple(part for value in values for part in split_at_commas(value) if part)


def split_at_commas(value: str) -> list[str]:
    """Return the parts of a value; quotes keep commas inside of one."""
    return next(csv.reader([value])) if '"' in value else value.split(",")


def list_option(*names: str, paths: bool = False, **settings: Any) -> Decorator:
    """Return an option that may repeat, as a tuple; it splits its values at commas."""
    if paths:
        settings["type"] = PathType()
    return option(*names, multiple=True, callback=at_commas, **settings)


budget_option = list_option(
    "--budget",
    effect=Effect.NONE,
    shared=True,
    metavar="NAME=N",
    group=PERFORMANCE,
    help="Limit evaluation steps (rule=N, resource=N, run=N; 0: unlimited). Repeatable.",
)
"""For commands that evaluate policies; `budget_of` reads it."""


def budget_of(given: tuple[str, ...], ctx: click.Context, usual: Budget = UNCHANGED) -> Budget:
    """Return the budget that `NAME=N` change; raises UsageError for anything else."""
    found: dict[str, int] = {}
    for one in given:
        name, _, number = one.partition("=")
        if name not in Budget._fields or not (number.isascii() and number.isdigit()):
            known = ", ".join(f"{field}=N" for field in Budget._fields)
            raise bad_value(ctx, "--budget", f"{one}: not one of {known}")
        found[name] = int(number[:18])
    return usual._replace(**found)


def seconds_option(usual: int, text: str) -> Decorator:
    """Return --seconds, which ends what a command does after a time; `text` says what it is.

    `--budget` bounds steps in other commands and nothing here: it is refused with a word.
    """
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
        _refused(("--budget",), False, _STEPS_ARE_NO_TIME),
    )


_STEPS_ARE_NO_TIME = "--budget limits evaluation steps; use --seconds N to limit time here"


def time_option(ctx: click.Context, param: click.Parameter, value: str | None) -> datetime | None:
    """Return the time in UTC that an option gives, or None where it gives none."""
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
    """Add the flags that are known but can't be honoured, each with a word on why."""
    function = offline_options(*(names[-1] for names, _, _ in _ONLINE))(function)
    for names, bare, reason in _NEEDLESS:
        function = _refused(names, bare, f"{names[-1]}: {reason}")(function)
    return function


def offline_options(*names: str) -> Decorator:
    """Return what adds those flags of the reference that need a server, refused with a word."""
    chosen = [one for one in _ONLINE if one[0][-1] in names]

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        for spelled, bare, reason in chosen:
            text = f"kyvsim works offline: {spelled[-1]}: {reason}"
            function = _refused(spelled, bare, text)(function)
        return function

    return add


def refuse_urls(paths: Iterable[str], ctx: click.Context) -> None:
    """Raise UsageError where a path is an address to fetch from."""
    for path in paths:
        if path.startswith(("http://", "https://")):
            raise click.UsageError(f"kyvsim works offline: download {path} and pass the files", ctx)


def _refused(names: tuple[str, ...], bare: bool, message: str) -> Decorator:
    def refuse(ctx: click.Context, param: click.Parameter, value: Any) -> None:
        del param
        if value:
            raise click.UsageError(message, ctx)

    return safe_option(
        *names,
        is_flag=bare,
        expose_value=False,
        hidden=True,
        callback=refuse,
        is_eager=True,
        help=message,
    )


_SIZE = r"(\d+) ?([kmg]?)(?:i?b)?"


def _bytes(ctx: click.Context, param: click.Parameter, value: str | None) -> int:
    if value is None:
        return 0
    found = re.fullmatch(_SIZE, value.strip().lower())
    size = int(found[1]) << 10 * " kmg".index(found[2] or " ") if found else 0
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
        help="How input files are grouped into clusters for lookups [default: file].",
    ),
    safe_option(
        "--piece-size",
        callback=_bytes,
        metavar="SIZE",
        group=DISTRIBUTED,
        help="Split large files into tasks of this size [default: 8MB].",
    ),
)
"""Adds the options that spread a run."""


def is_spread(options: Mapping[str, Any]) -> bool:
    """Return whether options spread a run, or mean to."""
    names = ("engine", "scheduler", "partials", "partials_format", "resume", "cluster_per")
    return any(options[name] for name in (*names, "piece_size"))


# Options on how folders are walked, and what is said of what was left out of them.


walking_options = combined(
    safe_option(
        "--exclude",
        shared=True,
        multiple=True,
        metavar="GLOB",
        group=INPUT,
        help="Skip files and folders that match, with .gitignore syntax. Repeatable.",
    ),
    safe_option(
        "--no-ignore",
        shared=True,
        is_flag=True,
        group=INPUT,
        help="Ignore .kyvsimignore files.",
    ),
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
    safe_option(
        "--show-ignored",
        shared=True,
        is_flag=True,
        group=OUTPUT,
        help="List ignored files and documents with the reason.",
    ),
)
"""Adds the options on how folders are walked."""


def walking_of(options: Mapping[str, Any], ctx: click.Context) -> Walking:
    """Return how the options say that folders are walked."""
    try:
        return walking_through(
            options["exclude"], ignore_files=not options["no_ignore"], most=options["max_files"]
        )
    except ValueError as error:
        raise bad_value(ctx, "--exclude", f"{' '.join(options['exclude'])}: {error}") from None


def print_evaluated_files(policies: Iterable[Policy]) -> None:
    """Print the files that the policies of a run are from, with their number of policies."""
    counts: dict[str, int] = {}
    for one in policies:
        counts[one.document.file] = counts.get(one.document.file, 0) + 1
    for file, number in counts.items():
        print_stderr(safe_line(f"{file}: read: {counted(number, 'policy')}"))


def print_ignored(left_out: Iterable[Diagnostic], options: Mapping[str, Any]) -> None:
    """Print the ignored files and documents if --show-ignored is given."""
    found = tuple(dict.fromkeys(left_out))
    if options["show_ignored"]:
        for one in found:
            print_stderr(safe_line(f"{one.location}: ignored: {one.message}"))
