"""The admission policies of Kubernetes that Kyverno reports on: a label asks for it.

Its chart has scans by ValidatingAdmissionPolicies switched on, and those by the others off.

Source of the rules: upstream pkg/controllers/report/utils/utils.go, charts/kyverno/values.yaml.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from kyvsim.kubernetes.objects import Json, labels, object_key
from kyvsim.simulator.parts import Parts

API_VERSION = "admissionregistration.k8s.io/v1"
_VALIDATING, _MUTATING = "ValidatingAdmissionPolicy", "MutatingAdmissionPolicy"
_SWITCHES: Mapping[str, tuple[str, bool]] = MappingProxyType(
    {
        _VALIDATING: ("validatingAdmissionPolicyReports", True),
        _MUTATING: ("mutatingAdmissionPolicyReports", False),
    }
)
"""The feature of the chart by which scans tell of each kind, and whether it is on by default."""
NATIVE_KINDS = frozenset(f"{kind}{part}" for kind in _SWITCHES for part in ("", "Binding"))
"""The kinds whose objects have a say in what is reported."""
_ENABLED, _DISABLED = "reports.kyverno.io/enabled", "reports.kyverno.io/disabled"


def reported_policies(parts: Parts) -> Iterator[Json]:
    """Yield the admission policies that scans tell of, by kind and name."""
    for kind, (feature, usual) in _SWITCHES.items():
        wanted = parts.settings.installation.value("features", feature, "enabled")
        if usual if wanted is None else wanted:
            yield from filter(_wants_reports, parts.store.list(API_VERSION, kind, ""))


def _wants_reports(policy: Json) -> bool:
    return labels(policy).get(_ENABLED) == "true"


def bindings_of(policy: Json, parts: Parts) -> Iterator[Json]:
    """Yield the bindings of a policy that scans look at, by name."""
    key = object_key(policy)
    for one in parts.store.list(API_VERSION, f"{key.kind}Binding", ""):
        left_out = key.kind == _VALIDATING and _DISABLED in labels(one)
        if one["spec"].get("policyName") == key.name and not left_out:
            yield one
