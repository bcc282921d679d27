"""How Kyverno is installed in a simulated cluster: as its Helm chart installs it, with values."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from kyvsim.kubernetes.objects import Json


class Installation(NamedTuple):
    """One installation."""

    name: str
    """What views call it: `helm`, `ci`, or the file of values."""
    values: Mapping[str, Json] = MappingProxyType({})
    """The values of the chart that are not its own."""

    def value(self, *path: str) -> Json:
        """Return what stands at a path of the values, None where they say nothing of it."""
        found: Json = self.values
        for name in path:
            found = found.get(name) if isinstance(found, Mapping) else None
        return found

    @property
    def exceptions_enabled(self) -> bool:
        """Whether PolicyExceptions are looked at."""
        return self.value("features", "policyExceptions", "enabled") is True

    @property
    def exceptions_namespace(self) -> str:
        """The namespace in which PolicyExceptions count, `*` for all, "" for none."""
        namespace = self.value("features", "policyExceptions", "namespace")
        return str(namespace or "") if self.exceptions_enabled else ""

    @property
    def ignores_failures(self) -> bool:
        """Whether requests pass where a policy cannot be evaluated, whatever the policy says."""
        return self.value("features", "forceFailurePolicyIgnore", "enabled") is True

    @property
    def omitted_events(self) -> tuple[str, ...]:
        """The reasons of Events that are not written."""
        given = self.value("features", "omitEvents", "eventTypes")
        return ("PolicyApplied", "PolicySkipped") if given is None else tuple(map(str, given))

    @property
    def reported(self) -> frozenset[str] | None:
        """The statuses of results that reports tell of, None for all of them."""
        given = self.value("features", "reporting", "allowedResults")
        if not given:
            return None
        return frozenset(name for name, wanted in given.items() if wanted)


HELM = Installation("helm")
"""The chart with its own values, which is what people have."""


def _rights(resources: Iterable[str], verbs: Iterable[str], group: str = "*") -> Json:
    extra = [{"apiGroups": [group], "resources": [*resources], "verbs": [*verbs]}]
    return {"rbac": {"clusterRole": {"extraResources": extra}}}


_EVERY_VERB = ("create", "update", "patch", "delete", "get", "list")
_NEEDED = (
    *("configmaps", "networkpolicies", "resourcequotas", "secrets", "roles", "rolebindings"),
    *("clusterroles", "clusterrolebindings", "limitranges", "namespaces", "nodes"),
    *("nodes/status", "pods"),
)
CI = Installation(
    "ci",
    MappingProxyType(
        {
            "global": {"crdWatcher": True},
            "features": {
                "policyExceptions": {"enabled": True, "namespace": "*"},
                "omitEvents": {"eventTypes": []},
                "mutatingAdmissionPolicyReports": {"enabled": True},
            },
            "admissionController": _rights(("secrets",), _EVERY_VERB),
            "backgroundController": _rights(_NEEDED, _EVERY_VERB),
            "cleanupController": _rights(("pods",), ("list", "delete", "watch"), group=""),
        }
    ),
)
"""The values under which upstream runs its end-to-end tests (scripts/config: standard, ttl,
mutating-admission-policy-reports)."""
BY_NAME: Mapping[str, Installation] = MappingProxyType({one.name: one for one in (HELM, CI)})
