"""Cleanup policies: what the controller may not do.

Source of the rules: upstream pkg/validation/cleanuppolicy.
"""

from kyvsim.model.policy import Policy
from kyvsim.sim.kyverno.users import CLEANUP
from kyvsim.sim.server import Store
from kyvsim.sim.server.authorizer import may
from kyvsim.sim.server.served_kinds import kind_key


def missing_cleanup_rights(policy: Policy, store: Store) -> str:
    """Return what the cleanup controller may not do that a policy needs, "" if it may all."""
    asked = [
        (kind, name)
        for rule in policy.rules
        for entry in rule.facts.match
        for kind in entry.kinds
        for name in entry.resources.get("names") or [""]
    ]
    for kind, name in asked:
        key = kind_key(kind, store)
        if key is None:
            return f"failed to get GVR for kind {kind}"
        place = key._replace(namespace=policy.namespace, name=name)
        for verb in ("delete", "list"):
            if not may(CLEANUP._replace(groups=()), verb, place, store):
                return f"cleanup controller has no permission to {verb} kind {kind}"
    return ""
