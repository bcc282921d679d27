"""Heads of partial reports, and remarks, as JSON."""

from typing import Any

from kyvsim.kubernetes.objects import Json
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.partial import Count, Head, Refusal
from kyvsim.model.source import Location
from kyvsim.report.diagnostics import diagnostic_json


def head_json(head: Head) -> dict[str, Json]:
    """Return a head as a map."""
    told: dict[str, Any] = head._asdict()
    told["counts"] = [[*one] for one in head.counts]
    told["objects"] = [*head.objects]
    for name in ("remarks", "problems"):
        told[name] = [diagnostic_json(one) for one in told[name]]
    told["refusals"] = [[*one] for one in head.refusals]
    return told


def head_of(data: Json) -> Head:
    """Return the head that a map tells; raise TypeError, KeyError or ValueError for another."""
    lists = {
        "counts": tuple(Count(*one) for one in data["counts"]),
        "objects": tuple(data["objects"]),
        "remarks": tuple(map(diagnostic_of, data["remarks"])),
        "problems": tuple(map(diagnostic_of, data["problems"])),
        "refusals": tuple(map(_refusal_of, data["refusals"])),
    }
    return Head(**{**data, **lists})


def _refusal_of(data: Json) -> Refusal:
    kind, field, what, example, place, number = data
    return Refusal(kind, field, what, example, Location(*place), number)


def diagnostic_of(data: Json) -> Diagnostic:
    """Return the remark that a map tells."""
    place = Location(data["file"], data["line"], data["column"]) if data["file"] else None
    excerpt = tuple(data.get("excerpt", ()))
    return Diagnostic(data["code"], Severity(data["severity"]), data["message"], place, excerpt)
