"""What the status of a policy in CEL says: whether it acts, may be reported on, and its variants.

Source of the rules: upstream pkg/controllers/policystatus (controller.go, vpol.go).
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from typing import NamedTuple

from kyvsim.context.access_review import allows
from kyvsim.kube.discovery import kind_of_plural
from kyvsim.kube.objects import Json, text_field
from kyvsim.languages.cel import resources_of
from kyvsim.languages.cel.compile import variants_of
from kyvsim.languages.cel.facts import generates, verifies_images
from kyvsim.languages.cel.webhook_facts import matched_resources
from kyvsim.model.policy import Policy
from kyvsim.sim.kyverno.users import REPORTS
from kyvsim.sim.server import Store

_REPORTING = "RBACPermissionsGranted"
_VERBS = ("get", "list", "watch")
_WITHOUT_SCANS = "Background scanning disabled; reporting permissions not required."


def cel_status(policy: Policy, store: Store, now: str, before: Json) -> Json:
    """Return the status of a policy that acts; a condition keeps its time while it stays.

    What the API server evaluates in its place is for whoever makes that to say.
    """
    conditions = [one.written(now, before) for one in _conditions(policy, store)]
    ready = all(one["status"] == "True" for one in conditions)
    stated = {"conditionStatus": {"conditions": conditions, "message": "", "ready": ready}}
    if generates(policy.kind):
        return stated
    configs = {
        one.name: {"targets": list(_targets(one.spec)), "spec": _stored(one.spec)}
        for one in variants_of(policy)
    }
    derived = {"autogen": {"configs": configs} if configs else {}, **stated}
    # Nothing is made of a policy on images that the API server could evaluate.
    return derived if verifies_images(policy.kind) else {**derived, "generated": False}


def _missing(policy: Policy, store: Store) -> Iterator[str]:
    for (group, version, resource), verb in product(resources_of(policy), _VERBS):
        asked = {"verb": verb, "group": group, "resource": resource}
        if not allows(asked, REPORTS, store):
            yield f"{verb} {group}/{version}, Resource={resource}: "


class _Condition(NamedTuple):
    kind: str
    holds: bool
    message: str

    def written(self, now: str, before: Json) -> Json:
        """Return it as a status has it, with the time since when it is so."""
        status = "True" if self.holds else "False"
        for one in _known(before):
            if text_field(one, "type") == self.kind and text_field(one, "status") == status:
                now = text_field(one, "lastTransitionTime") or now
        return {
            "lastTransitionTime": now,
            "message": self.message,
            "reason": "Succeeded" if self.holds else "Failed",
            "status": status,
            "type": self.kind,
        }


def _conditions(policy: Policy, store: Store) -> Iterator[_Condition]:
    if policy.facts.admission:
        yield _Condition("WebhookConfigured", True, "Webhook configured.")
    if not policy.facts.background:
        yield _Condition(_REPORTING, True, _WITHOUT_SCANS)
        return
    missing = "; ".join(_missing(policy, store))
    said = "Policy is ready for reporting."
    if missing:
        said = f"Policy is not ready for reporting, missing permissions: {missing}."
    yield _Condition(_REPORTING, not missing, said)


def _known(before: Json) -> Iterable[Json]:
    return ((before or {}).get("conditionStatus") or {}).get("conditions") or ()


def _targets(spec: Mapping[str, Json]) -> Iterator[Json]:
    """Yield the kinds that a variant is for, in the order of group, version and resource."""
    for group, version, resource in sorted(matched_resources(spec)):
        kind = kind_of_plural(group, resource)
        named = {"group": group} if group else {}
        yield {**named, "version": version, "resource": resource, "kind": kind}


def _stored(spec: Mapping[str, Json]) -> Json:
    return {name: value for name, value in spec.items() if value is not None}
