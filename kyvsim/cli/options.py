"""Options that commands share: lists split at commas, flags of the online half."""

import csv
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from kyvsim.cli import declared
from kyvsim.model.policy import SEVERITIES
from kyvsim.model.ports import UNCHANGED, Budget

_CLUSTER = "there is no cluster to ask; pass manifests with --resource"
_REGISTRY = "there is no registry to ask"
_GIT = "there is no git server to ask; clone the repository and pass its files"

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
    (("--continue-on-fail",), True, "kyvsim always goes on after an error: leave it out"),
    (("--v", "-v"), False, "kyvsim has no log to make longer: leave it out"),
)
"""Flags of the reference that would change nothing here."""


def strict_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add --strict, which means the same for every command that has it."""
    text = "Count warnings about input as errors, with exit status 2."
    return declared.shared(declared.option("--strict", is_flag=True, help=text))(function)


def fail_on_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add --fail-on, for commands whose exit status is that of a run."""
    option = declared.option(
        "--fail-on",
        type=declared.Choice(SEVERITIES, case_sensitive=False),
        help="Count failures only of policies of this severity or a higher one, and of those "
        "without severity; others are shown.",
    )
    return declared.shared(option)(function)


def colour_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add --remove-color, for commands that show a view for people."""
    text = "Print without colours."
    return declared.shared(declared.option("--remove-color", is_flag=True, help=text))(function)


def warn_status_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add --warn-exit-code, for commands that tell how a run ended."""
    option = declared.option(
        "--warn-exit-code",
        type=declared.IntRange(0, 255),
        default=0,
        help="Exit status when there are warnings and nothing worse.",
    )
    return declared.shared(option)(function)


extent_options = declared.shared(
    declared.options(
        declared.option("-q", "--quiet", is_flag=True, help="Show only what fails."),
        declared.option(
            "--verbose",
            is_flag=True,
            help="Show what was looked at and what was left out, and what passes, too.",
        ),
        declared.option("--statistics", is_flag=True, help="Show only how many there are of each."),
    )
)
"""Adds the options on how much is shown; `extent_of` reads them."""


def extent_of(
    options: Mapping[str, Any], call: declared.Call, wider: Iterable[str]
) -> dict[str, Any]:
    """Return options in which --verbose asks for what `wider` names, too.

    Raises UsageError where options on how much is shown contradict.
    """
    asked = [one for one in ("quiet", "verbose", "statistics") if options[one]]
    if len(asked) > 1:
        names = " and ".join(f"--{one}" for one in asked)
        raise declared.UsageError(f"{names} ask for different things: give one of them", call)
    return {**options, **dict.fromkeys(wider if options["verbose"] else (), True)}


def jobs_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add --jobs, the number of processes for commands whose work divides."""
    text = "Processes at once; 0: as many as processors, where it is worth it."
    option = declared.option("-j", "--jobs", type=declared.IntRange(0), default=0, help=text)
    return declared.shared(option)(function)


def list_option(
    *names: str,
    help: str,  # noqa: A002 — click's word
    paths: bool = False,
    split: bool = True,
) -> declared.Decorator:
    """Return an option that may repeat, as a tuple; it splits its values at commas, or not."""
    settings = {"type": declared.PathText()} if paths else {}
    return declared.option(
        *names, multiple=True, callback=at_commas if split else None, help=help, **settings
    )


def budget_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add --budget, for commands that evaluate policies; `budget_of` reads it."""
    text = "Most steps of evaluation, as rule=N, resource=N or run=N; 0 for as many as it takes."
    return declared.shared(list_option("--budget", help=text))(function)


def budget_of(given: tuple[str, ...], call: declared.Call, usual: Budget = UNCHANGED) -> Budget:
    """Return the budget that `NAME=N` change; raises UsageError for anything else."""
    found: dict[str, int] = {}
    for one in given:
        name, _, number = one.partition("=")
        if name not in Budget._fields or not (number.isascii() and number.isdigit()):
            known = ", ".join(f"{field}=N" for field in Budget._fields)
            raise call.wrong("--budget", f"{one}: not one of {known}")
        found[name] = int(number[:18])
    return usual._replace(**found)


def seconds_option(usual: int, text: str) -> declared.Decorator:
    """Return --seconds, which ends what a command does after a time; `text` says what it is.

    `--budget` bounds steps in other commands and nothing here: it is refused with a word.
    """
    return declared.options(
        declared.option(
            "--seconds",
            type=declared.IntRange(1),
            default=usual,
            show_default=True,
            metavar="N",
            help=text,
        ),
        _refused(("--budget",), False, _STEPS_ARE_NO_TIME),
    )


_STEPS_ARE_NO_TIME = "--budget bounds steps of evaluation; here it is --seconds N that bounds time"


def time_option(call: declared.Call, spelled: str, value: str | None) -> Any:
    """Return the time in UTC that an option gives, or None where it gives none."""
    if value is None:
        return None

    try:
        time = datetime.fromisoformat(value)
    except ValueError:
        time = None
    if time is None or time.tzinfo is None:
        text = f"{spelled} {value}: not a time such as 2026-01-31T08:00:00Z"
        raise declared.UsageError(text, call)
    return time.astimezone(UTC)


def refused_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the flags that are known but can't be honoured, each with a word on why."""
    function = offline_options(*(names[-1] for names, _, _ in _ONLINE))(function)
    for names, bare, reason in _NEEDLESS:
        function = _refused(names, bare, f"{names[-1]}: {reason}")(function)
    return function


def offline_options(*names: str) -> declared.Decorator:
    """Return what adds those flags of the reference that need a server, refused with a word."""
    chosen = [one for one in _ONLINE if one[0][-1] in names]

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        for spelled, bare, reason in chosen:
            text = f"kyvsim works offline: {spelled[-1]}: {reason}"
            function = _refused(spelled, bare, text)(function)
        return function

    return add


def refuse_urls(paths: Iterable[str], call: declared.Call) -> None:
    """Raise UsageError where a path is an address to fetch from."""
    for path in paths:
        if path.startswith(("http://", "https://")):
            raise declared.UsageError(
                f"kyvsim works offline: fetch {path} yourself and pass the files", call
            )


def at_commas(call: declared.Call, spelled: str, values: Sequence[str]) -> tuple[str, ...]:
    """Return the parts of all values: the callback of options that split theirs at commas."""
    del call, spelled
    parts: list[str] = []
    for value in values:
        parts += split_at_commas(value)
    return tuple(part for part in parts if part)


def split_at_commas(value: str) -> list[str]:
    """Return the parts of a value; quotes keep commas inside of one."""
    if '"' not in value:
        return value.split(",")

    return next(csv.reader([value]))


def _refused(names: tuple[str, ...], bare: bool, message: str) -> declared.Decorator:
    def refuse(call: declared.Call, spelled: str, value: Any) -> None:
        del spelled
        if value:
            raise declared.UsageError(message, call)

    return declared.option(
        *names,
        is_flag=bare,
        expose_value=False,
        hidden=True,
        callback=refuse,
        is_eager=True,
        help=message,
    )


_SIZE = re.compile(r"(\d+) ?([kmg]?)(?:i?b)?")


def _bytes(call: declared.Call, spelled: str, value: str | None) -> int:
    if value is None:
        return 0
    found = _SIZE.fullmatch(value.strip().lower())
    size = int(found[1]) << 10 * " kmg".index(found[2] or " ") if found else 0
    if not size:
        raise declared.UsageError(f"{spelled} {value}: not a size such as 8MB", call)
    return size


fleet_options = declared.options(
    declared.option(
        "--engine",
        type=declared.Choice(("processes", "dask")),
        help="Spread the work: over --jobs processes, or over the workers of a --scheduler.",
    ),
    declared.option("--scheduler", default="", metavar="ADDRESS", help="The scheduler of dask."),
    declared.option(
        "--partials",
        default="",
        metavar="PATH",
        type=declared.PathText(is_written=True),
        help="Folder or URL for partial reports, written as they come; shows counts only.",
    ),
    declared.option(
        "--partials-format",
        type=declared.Choice(("jsonl", "parquet")),
        help="How partial reports are written.  [default: jsonl]",
    ),
    declared.option("--resume", is_flag=True, help="Go on with what is in --partials."),
    declared.option(
        "--cluster-per",
        type=declared.Choice(("file", "folder", "all")),
        help="Which files are dumps of one cluster, whose objects rules see.  [default: file]",
    ),
    declared.option(
        "--piece-size",
        callback=_bytes,
        metavar="SIZE",
        help="How much of a large file makes a task.  [default: 8MB]",
    ),
)
"""Adds the options that spread a run."""


def is_spread(options: Mapping[str, Any]) -> bool:
    """Return whether options spread a run, or mean to."""
    names = ("engine", "scheduler", "partials", "partials_format", "resume", "cluster_per")
    return any(options[name] for name in (*names, "piece_size"))
