"""The labels that tell whose a generated object is, and how it is found by them.

Source of the rules: upstream pkg/background/common (labels.go, util.go),
pkg/background/generate/utils.go.
"""

from collections.abc import Mapping
from types import MappingProxyType

from kyvsim.kubernetes.objects import Json, labels
from kyvsim.model.policy import Policy
from kyvsim.simulator.api_server import Store

LABEL = "generate.kyverno.io/"
MANAGED: Mapping[str, str] = MappingProxyType({"app.kubernetes.io/managed-by": "kyverno"})


def selected(store: Store, api_version: str, kind: str, wanted: Mapping[str, str]) -> list[Json]:
    """Return the objects of a kind that carry labels."""
    return [
        obj for obj in store.list(api_version, kind, "") if wanted.items() <= labels(obj).items()
    ]


def policy_labels(policy: Policy) -> dict[str, str]:
    """Return the labels of everything that a policy generated."""
    owner = {f"{LABEL}policy-name": policy.name, f"{LABEL}policy-namespace": policy.namespace}
    return {**MANAGED, **owner}


def trigger_from_labels(marks: Mapping[str, str]) -> dict[str, Json]:
    """Return the reference to the trigger that the labels of a generated object tell."""
    group, version = (marks.get(f"{LABEL}trigger-{part}", "") for part in ("group", "version"))
    names = ("kind", "namespace", "name", "uid")
    found = {name: marks.get(f"{LABEL}trigger-{name}", "") for name in names}
    return {"apiVersion": f"{group}/{version}" if group else version, **found}
