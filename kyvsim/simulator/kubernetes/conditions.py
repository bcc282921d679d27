"""Statuses and the conditions in them."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from kyvsim.kubernetes.objects import Json, entries, text_field
from kyvsim.simulator.api_server import Client


class Condition(NamedTuple):
    """What holds of an object, or does not."""

    type: str
    holds: bool
    reason: str = ""
    message: str = ""


def conditions(old: Json, wanted: Iterable[Condition], stamp: str) -> list[Json]:
    """Return conditions as a status has them; the time of one that stays as it was is kept."""
    before = {text_field(one, "type"): one for one in entries(old, "conditions")}
    return [_written(one, before.get(one.type), stamp) for one in wanted]


def _written(wanted: Condition, before: Json, stamp: str) -> Json:
    status = "True" if wanted.holds else "False"
    since = text_field(before, "lastTransitionTime") if before else ""
    same = before is not None and text_field(before, "status") == status
    told = {"reason": wanted.reason, "message": wanted.message}
    return {
        "type": wanted.type,
        "status": status,
        **{name: text for name, text in told.items() if text},
        "lastTransitionTime": since if same and since else stamp,
    }


def has_condition(obj: Json, kind: str) -> bool:
    """Return whether a condition holds of an object."""
    return any(
        text_field(one, "type") == kind and text_field(one, "status") == "True"
        for one in entries(obj.get("status"), "conditions")
    )


def write_status(client: Client, obj: Json, status: Mapping[str, Json]) -> bool:
    """Give an object another status; return whether that went well, or was not necessary."""
    if obj.get("status") == status:
        return True
    return client.update({**obj, "status": dict(status)}, "status").ok


def counts(**numbers: int) -> dict[str, int]:
    """Return the numbers of a status; those that are 0 are left out, as the API does."""
    return {name: number for name, number in numbers.items() if number}
