"""What a policy says beside its rules → the same of the new one."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from kyvsim.kube.discovery import plural
from kyvsim.kube.objects import Json
from kyvsim.languages.classic.autogen import ANNOTATION, ComputedRules
from kyvsim.migrate.desk import Desk
from kyvsim.migrate.queries import Scope
from kyvsim.model.migration import Condition
from kyvsim.schema.facts import CEL_GROUP, written_schema
from kyvsim.schema.node import Node

API_VERSION: Final = f"{CEL_GROUP}/v1"
"""Of the policies that others become."""

_EXISTING: Final = Condition(
    "existing violations",
    "objects that break the rule already can no longer be changed without mending them",
)
_REPLICATION: Final = Condition(
    "ReplicationControllers", "none are used: no policy in CEL is derived for them"
)
_ONE_RULE: Final = Condition(
    "applyRules: One", "the rules do not depend on each other: each of them is asked"
)
_WEBHOOK: Final = Condition(
    "webhook conditions",
    "they count in scans, too, where those of the old policy's webhook do not",
)
_OWN: Final = frozenset({ANNOTATION, "kubectl.kubernetes.io/last-applied-configuration"})
"""Annotations that say nothing of the new policy."""
_DERIVABLE: Final = ("CronJob", "DaemonSet", "Deployment", "Job", "ReplicaSet", "StatefulSet")
_GROUPS: Final[Mapping[str, str]] = MappingProxyType({"CronJob": "batch", "Job": "batch"})


def actions_of(rule: Json, spec: Json, scope: Scope) -> dict[str, Json]:
    """Return what the new policy does where a rule fails, as `validationActions`.

    Overrides are not looked at: see `overrides.py`.
    """
    body = rule.get("validate") or {}
    action = body.get("failureAction") or spec.get("validationFailureAction") or "Audit"
    if action.lower() == "enforce":
        if body.get("allowExistingViolations", True):
            scope.desk.note(_EXISTING)
        return {"validationActions": ["Deny"]}
    warns = body.get("emitWarning", spec.get("emitWarning", False))
    return {"validationActions": ["Audit", "Warn"] if warns else ["Audit"]}


def asked_before(spec: Json, desk: Desk) -> list[tuple[str, str]]:
    """Return the conditions of a policy's webhook, which are those of all that it becomes."""
    conditions = (spec.get("webhookConfiguration") or {}).get("matchConditions") or ()
    if conditions:
        desk.note(_WEBHOOK)
    return [(one["name"], one["expression"]) for one in conditions]


def settings_of(spec: Json, kind: str, desk: Desk) -> dict[str, Json]:
    """Return the fields of a policy as a whole, as far as its kind has them."""
    if spec.get("applyRules") == "One" and len(spec.get("rules") or ()) > 1:
        desk.note(_ONE_RULE)
    found: dict[str, Json] = {}
    webhook = spec.get("webhookConfiguration") or {}
    if (webhook.get("failurePolicy") or spec.get("failurePolicy")) == "Ignore":
        found["failurePolicy"] = "Ignore"
    timeout = webhook.get("timeoutSeconds") or spec.get("webhookTimeoutSeconds")
    if timeout:
        found["webhookConfiguration"] = {"timeoutSeconds": timeout}
    switches = {
        name: {"enabled": False}
        for name in ("admission", "background")
        if spec.get(name) is False and _has(kind, "evaluation", name)
    }
    if switches:
        found["evaluation"] = switches
    return {name: value for name, value in found.items() if _has(kind, name)}


def _has(kind: str, *steps: str) -> bool:
    """Return whether the `spec` of a kind of policies in CEL has a field."""
    node: Node | None = written_schema(f"{API_VERSION}/{kind}")
    for step in ("spec", *steps):
        node = node and node.child(step)
    return node is not None


def controllers_of(computed: ComputedRules, desk: Desk) -> Json | None:
    """Return the controllers that a policy on Pods is derived for; None for all that there are."""
    wanted = computed.controllers
    if "ReplicationController" in wanted:
        desk.note(_REPLICATION)
    known = [one for one in _DERIVABLE if one in wanted]
    if len(known) == len(_DERIVABLE):
        return None
    return [plural(_GROUPS.get(one, "apps"), one) for one in known]


def metadata_of(metadata: Json, name: str) -> dict[str, Json]:
    """Return the metadata of a new policy: those of the old one that mean the same."""
    annotations = {
        key: value for key, value in (metadata.get("annotations") or {}).items() if key not in _OWN
    }
    found: dict[str, Json] = {"name": name}
    if metadata.get("namespace"):
        found["namespace"] = metadata["namespace"]
    if metadata.get("labels"):
        found["labels"] = metadata["labels"]
    if annotations:
        found["annotations"] = annotations
    return found
