"""A namespaced policy mutates existing resources of its own namespace only.

upstream: api/kyverno/v1/rule_types.go, ValidateMutationRuleTargetNamespace
"""

from collections.abc import Iterator

from kyvsim.kube.go_text import quote
from kyvsim.languages.classic.checks.refusal import RuleUnderCheck
from kyvsim.model.diagnostic import Diagnostic


def check_target_namespaces(subject: RuleUnderCheck) -> Iterator[Diagnostic]:
    """Targets of a namespaced policy stand in its namespace."""
    if subject.policy.kind != "Policy":
        return
    for index, target in enumerate(subject.data.get("mutate", {}).get("targets", ())):
        namespace = target.get("namespace", "")
        if namespace and namespace != subject.policy.namespace:
            text = (
                f"{subject.text_path}.targets[{index}].namespace: Invalid value:"
                f" {quote(namespace)}: This field can be ignored or should have value of the"
                " namespace where the policy is being created"
            )
            yield subject.refuse("KV144", text, ("mutate", "targets", index))
