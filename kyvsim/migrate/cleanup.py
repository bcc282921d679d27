"""CleanupPolicy and ClusterCleanupPolicy → policies that delete."""

from typing import Final

from kyvsim.kubernetes.objects import Json
from kyvsim.migrate.conditions import conditions_test
from kyvsim.migrate.desk import Desk
from kyvsim.migrate.entries import with_entries
from kyvsim.migrate.expressions import TRUE, Test
from kyvsim.migrate.matching import matching_at_rest
from kyvsim.migrate.named_conditions import named_conditions, written_conditions
from kyvsim.migrate.queries import Scope
from kyvsim.migrate.queries.read import read
from kyvsim.migrate.refusal import NotConvertible, refused, told, within
from kyvsim.migrate.settings import API_VERSION, metadata_of
from kyvsim.migrate.subject import without_unread
from kyvsim.migrate.values import Value
from kyvsim.model.migration import Conversion, Made
from kyvsim.model.policy import Policy

CLEANUP_KINDS: Final = frozenset({"CleanupPolicy", "ClusterCleanupPolicy"})
DELETING: Final = "DeletingPolicy"
_SPEC: Final = ("spec",)


def convert_cleanup(policy: Policy) -> Conversion:
    """Return what becomes of a cleanup policy."""
    desk = Desk({}, [], set(), _SPEC)
    try:
        made = Made(_deleting(policy, desk), (0,), (0,))
    except NotConvertible as refusal:
        return Conversion(
            policy, (refused(policy.document, policy.name, refusal.below(*_SPEC)),), ()
        )
    return Conversion(policy, (told(policy.document, policy.name, desk),), (made,))


def _deleting(policy: Policy, desk: Desk) -> dict[str, Json]:
    data = policy.document.data
    spec = data["spec"]
    matching = matching_at_rest(spec, desk)
    target = Value("object", matching.types)
    scope = Scope(
        desk, target, target, read, {"target": target}, namespace=policy.namespace, at_rest=True
    )
    scope = within(("context",), with_entries, spec.get("context"), scope)
    holds: Test = TRUE
    if spec.get("conditions"):
        holds = within(("conditions",), conditions_test, spec["conditions"], scope)
    conditions = written_conditions([*matching.conditions, *named_conditions("condition", holds)])
    found: dict[str, Json] = {"schedule": spec["schedule"]}
    if spec.get("deletionPropagationPolicy"):
        found["deletionPropagationPolicy"] = spec["deletionPropagationPolicy"]
    found["matchConstraints"] = matching.constraints
    variables = without_unread(desk, [text for _, text in conditions])
    if variables:
        found["variables"] = [{"name": one, "expression": text} for one, text in variables.items()]
    if conditions:
        found["conditions"] = [{"name": one, "expression": text} for one, text in conditions]
    return {
        "apiVersion": API_VERSION,
        "kind": f"Namespaced{DELETING}" if policy.namespace else DELETING,
        "metadata": metadata_of(data["metadata"], policy.name),
        "spec": found,
    }
