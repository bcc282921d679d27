"""What reports say of a result: its author, its message, its properties.

Source of the rules: upstream pkg/utils/report (source.go, results.go).
"""

from collections.abc import Mapping
from types import MappingProxyType

from kyvsim.model.policy import Policy
from kyvsim.model.result import RuleResult

_OLDER = "kyverno"
_SOURCES: Mapping[str, str] = MappingProxyType(
    {
        **{
            kind: f"Kyverno{kind}"
            for kind in (
                "GeneratingPolicy",
                "ImageValidatingPolicy",
                "MutatingPolicy",
                "ValidatingPolicy",
            )
        },
        **{kind: kind for kind in ("MutatingAdmissionPolicy", "ValidatingAdmissionPolicy")},
    }
)


def report_source(kind: str) -> str:
    """Return the source of the results of a policy of a kind."""
    return _SOURCES.get(kind.removeprefix("Namespaced"), _OLDER)


def report_process(policy: Policy) -> str:
    """Return when the results of a policy come about; "" where nothing asks for them."""
    kind = policy.kind.removeprefix("Namespaced")
    if kind == "DeletingPolicy":
        return ""
    if kind != "GeneratingPolicy" and policy.background:
        return "background scan"
    return "admission review" if policy.facts.admission or kind == "GeneratingPolicy" else ""


def report_message(result: RuleResult, status: str) -> str:
    """Return the message of a result: that of its properties, for its status or for all, if any."""
    properties = result.properties
    return properties.get("message") or properties.get(f"{status}Message") or result.message


def report_properties(policy: Policy, result: RuleResult) -> dict[str, str]:
    """Return the properties that all reports tell of a result."""
    properties = {**result.properties, "process": report_process(policy)}
    if result.exceptions:
        properties["exceptions"] = ",".join(key.rpartition("/")[2] for key in result.exceptions)
    return properties
