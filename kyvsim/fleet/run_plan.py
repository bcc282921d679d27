"""What a run writes of itself: what it is to evaluate, and what is said of it at its end."""

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from kyvsim import __version__
from kyvsim.fleet.partial_json import diagnostic_of
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.report.diagnostics import diagnostic_json

_REMARKS = ("before", "after", "left_out")


class RunPlan(NamedTuple):
    """What a run is to evaluate; it is there before any report is."""

    run: str
    """Tells this run from any other that writes to the folder."""
    assignment: str
    everything: bool
    """Whether all rows are told."""
    audit_warn: bool
    piece_size: int
    rules: int
    exceptions: int
    before: tuple[Diagnostic, ...]
    """Said of policies and options, before what is said of resources."""
    after: tuple[Diagnostic, ...]
    """The same, after it."""
    left_out: tuple[Diagnostic, ...]
    """What was left out of folders of policies."""
    files: Mapping[str, tuple[int, str]]
    """Size and stamp of each file, by name."""
    version: str = __version__


class RunEnd(NamedTuple):
    """What only a finished run can say."""

    run: str
    remarks: tuple[Diagnostic, ...]
    """What is told before the results."""
    last: tuple[Diagnostic, ...]
    """What is told behind them."""


def plan_text(plan: RunPlan) -> bytes:
    """Return a plan as the text of a file."""
    told: dict[str, Any] = plan._asdict()
    told |= {name: _told(told[name]) for name in _REMARKS}
    return f"{json.dumps(told, indent=1)}\n".encode()


def plan_of(text: bytes) -> RunPlan | None:
    """Return the plan that a text tells, or None."""
    try:
        told = json.loads(text)
        told |= {name: tuple(map(diagnostic_of, told[name])) for name in _REMARKS}
        files = {name: (int(size), str(stamp)) for name, (size, stamp) in told["files"].items()}
        return RunPlan(**{**told, "files": files})
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def end_text(end: RunEnd) -> bytes:
    """Return what is said at the end as the text of a file."""
    told = {"run": end.run, "remarks": _told(end.remarks), "last": _told(end.last)}
    return f"{json.dumps(told, indent=1)}\n".encode()


def end_of(text: bytes) -> RunEnd | None:
    """Return what a text says of the end of a run, or None."""
    try:
        told = json.loads(text)
        remarks, last = (tuple(map(diagnostic_of, told[name])) for name in ("remarks", "last"))
        return RunEnd(str(told["run"]), remarks, last)
    except (ValueError, KeyError, TypeError):
        return None


def _told(remarks: Iterable[Diagnostic]) -> list[Any]:
    return [diagnostic_json(one) for one in remarks]
