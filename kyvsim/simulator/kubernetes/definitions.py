"""Custom resource definitions: served as soon as they are stored, and said to be so.

Source of the rules: k8s.io/apiextensions-apiserver pkg/controller/status, pkg/controller/establish.
"""

from kyvsim.kubernetes.objects import Json, text_field
from kyvsim.model.request import UserInfo
from kyvsim.simulator.api_server import Change
from kyvsim.simulator.latency import NOTICE
from kyvsim.simulator.parts import Parts

_ACTOR = "apiextensions"
_API_SERVER = UserInfo("system:apiserver", groups=("system:masters", "system:authenticated"))
_KIND = "CustomResourceDefinition"


def establish_definitions(parts: Parts) -> None:
    """Let every definition say that its kind is served."""

    def observe(change: Change) -> None:
        key = change.key
        if key.kind == _KIND and change.new is not None and not change.new.get("status"):
            parts.scheduler.after(NOTICE, _ACTOR, lambda: establish(key.name))

    def establish(name: str) -> None:
        found = parts.store.get("apiextensions.k8s.io/v1", _KIND, "", name)
        if found is not None and not found.get("status"):
            status = _status(found["spec"], parts.clock.stamp())
            parts.client(_API_SERVER).update({**found, "status": status}, "status")

    parts.store.watch(observe)


def _status(spec: Json, now: str) -> Json:
    names = spec.get("names") or {}
    kind = text_field(names, "kind")
    accepted = {"singular": kind.lower(), "listKind": f"{kind}List", **names}
    conditions = [
        ("NamesAccepted", "NoConflicts", "no conflicts found"),
        ("Established", "InitialNamesAccepted", "the initial names have been accepted"),
    ]
    versions = [one["name"] for one in spec.get("versions") or () if one.get("storage") is True]
    return {
        "acceptedNames": accepted,
        "conditions": [
            {
                "lastTransitionTime": now,
                "message": message,
                "reason": reason,
                "status": "True",
                "type": type_,
            }
            for type_, reason, message in conditions
        ],
        "storedVersions": versions,
    }
