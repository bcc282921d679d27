"""PolicyExceptions of both groups: what is refused.

Source of the rules: upstream api/kyverno/v2/policy_exception_types.go, pkg/validation/exception;
kyverno/api api/policies.kyverno.io/v1beta1/policy_exception.go.
"""

from collections.abc import Iterator

from kyvsim.kube.objects import Json
from kyvsim.languages.classic.checks.match_blocks import check_match_blocks, user_fields
from kyvsim.languages.classic.checks.pod_security import exclusion_problems
from kyvsim.languages.classic.checks.refusal import RuleUnderCheck
from kyvsim.match.filters import filters
from kyvsim.model.exception import CelException, PolicyException
from kyvsim.model.facts import PolicyFacts, RuleFacts
from kyvsim.model.policy import Policy, Rule

DISABLED = "PolicyException resources would not be processed until it is enabled."
NO_NAMESPACE = "The exceptionNamespace flag is not set"
OTHER_NAMESPACE = "PolicyException resource namespace must match the defined namespace."


def exception_problems(exception: PolicyException, spec: Json) -> Iterator[str]:
    """Yield what is wrong with an exception, each as `field: what: why`."""
    block = {"match": exception.match}
    if spec.get("background") is not False:
        yield from user_fields(filters(block, "match"))
    holder = Policy(
        kind="ClusterPolicy",
        name=exception.name,
        namespace="",
        annotations={},
        spec={},
        rules=(),
        document=exception.document,
        facts=PolicyFacts(""),
    )
    rule = RuleUnderCheck(holder, Rule("", block, ("spec",), RuleFacts()), 0)
    for found in check_match_blocks(rule):
        yield found.message.replace("spec.rules[0].", "spec.", 1)
    for index, entry in enumerate(exception.exceptions):
        if not entry.policy:
            yield (
                f"spec.exceptions[{index}].policyName: Required value: An exception requires a"
                " policy name"
            )
    for index, control in enumerate(exception.pod_security):
        for text in exclusion_problems(control):
            yield f"spec.podSecurity[{index}].{text}"


def cel_exception_problems(exception: CelException) -> Iterator[str]:
    """Yield what is wrong with an exception for policies in CEL, each as `field: what: why`."""
    if not exception.policies:
        yield "spec.policyRefs: Invalid value: []: must specify at least one policy ref"
    for index, one in enumerate(exception.policies):
        for field, value in (("name", one.name), ("kind", one.kind)):
            if not value:
                what = f"spec.policyRefs[{index}].{field}"
                yield f'{what}: Invalid value: "": must specify policy {field}'
