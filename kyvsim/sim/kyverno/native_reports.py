"""The admission policies of Kubernetes that Kyverno reports on: a label asks for it.

Source of the rules: upstream pkg/controllers/report/utils/utils.go.
"""

from collections.abc import Iterator

from kyvsim.kube.objects import Json, labels
from kyvsim.sim.parts import Parts

API_VERSION = "admissionregistration.k8s.io/v1"
VALIDATING = "ValidatingAdmissionPolicy"
_SWITCH = "validatingAdmissionPolicyReports"
_ENABLED, _DISABLED = "reports.kyverno.io/enabled", "reports.kyverno.io/disabled"


def wants_reports(policy: Json) -> bool:
    """Return whether the label of an admission policy asks for reports."""
    return labels(policy).get(_ENABLED) == "true"


def reported_policies(parts: Parts) -> Iterator[Json]:
    """Yield the ValidatingAdmissionPolicies that scans tell of, by name."""
    if parts.settings.installation.value("features", _SWITCH, "enabled") is not False:
        yield from filter(wants_reports, parts.store.list(API_VERSION, VALIDATING, ""))


def bindings_of(policy: str, parts: Parts) -> Iterator[Json]:
    """Yield the bindings of a policy that scans look at, by name."""
    for one in parts.store.list(API_VERSION, f"{VALIDATING}Binding", ""):
        if one["spec"].get("policyName") == policy and _DISABLED not in labels(one):
            yield one
