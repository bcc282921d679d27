"""Whether Kyverno leaves a policy in CEL to the API server, by an admission policy made of it.

While there is such a policy, Kyverno neither asks the policy itself nor scans by it.

Source of the rules: upstream pkg/controllers/admissionpolicygenerator (generate-vap.go,
generate-map.go).
"""

from typing import NamedTuple

from kyvsim.kube.objects import Json
from kyvsim.languages.cel.native_twin import wants_native_twin, why_no_native_twin
from kyvsim.model.installation import Installation
from kyvsim.model.policy import Policy

_VALIDATING, _MUTATING = "ValidatingAdmissionPolicy", "MutatingAdmissionPolicy"


class Plan(NamedTuple):
    """The admission policy that is made of a policy, or why there is none."""

    kind: str
    name: str
    why_not: str = ""
    """What the status of the policy says; "" where one is made."""

    @property
    def binding(self) -> tuple[str, str]:
        """Kind and name of the binding."""
        return f"{self.kind}Binding", f"{self.name}-binding"


def plan_of(policy: Policy, installation: Installation) -> Plan | None:
    """Return what is made of a policy, None where nobody looks whether anything is."""
    if policy.kind == "ValidatingPolicy":
        switch = installation.value("features", "generateValidatingAdmissionPolicy", "enabled")
        plan = Plan(_VALIDATING, f"vpol-{policy.name}")
        return (
            None
            if switch is False
            else plan._replace(why_not=why_no_native_twin(policy, plan.kind))
        )
    if policy.kind == "MutatingPolicy":
        switch = installation.value("features", "generateMutatingAdmissionPolicy", "enabled")
        plan = Plan(_MUTATING, f"mpol-{policy.name}")
        if switch is not True and not wants_native_twin(policy, plan.kind):
            return None
        return plan._replace(why_not=why_no_native_twin(policy, plan.kind))
    return None


def with_plan(status: Json, plan: Plan | None) -> Json:
    """Return the status of a policy with what is made of it, or why nothing is."""
    if plan is None:
        return status
    conditions = {**status["conditionStatus"], "message": plan.why_not}
    return {**status, "conditionStatus": conditions, "generated": not plan.why_not}


def is_left_to_the_server(policy: Policy, installation: Installation) -> bool:
    """Return whether the API server evaluates a policy instead of Kyverno."""
    plan = plan_of(policy, installation)
    return plan is not None and not plan.why_not
