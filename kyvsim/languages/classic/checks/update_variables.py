"""Rules that run when their policy changes know no request.

upstream: pkg/validation/policy/validate.go, ValidateOnPolicyUpdate
"""

from collections.abc import Iterator

from kyvsim.languages.classic.checks.allowed_variables import invalid_variables
from kyvsim.languages.classic.checks.refusal import RuleUnderCheck, has, rules_under_check
from kyvsim.languages.classic.checks.user_variables import user_dependencies, variables_of
from kyvsim.model.diagnostic import Diagnostic

_ON_UPDATE = (
    "only select variables are allowed in on policy update. Set"
    " spec.mutateExistingOnPolicyUpdate=false to disable update policy mode for this policy rule: "
)


def check_update_variables(subject: RuleUnderCheck) -> Iterator[Diagnostic]:
    """Where a rule mutates existing resources on updates, no rule depends on the request's user.

    A background policy was held to that before.
    """
    mutate = subject.data.get("mutate", {})
    on_update = mutate.get(
        "mutateExistingOnPolicyUpdate", subject.policy.spec.get("mutateExistingOnPolicyUpdate")
    )
    if subject.policy.background or not on_update or not has(subject.data, "mutate"):
        return
    if next(variables_of(subject.policy), None) is None:
        return
    for other in rules_under_check(subject.policy):
        for message, path in invalid_variables(other, background=True):
            text = f"update event, policy contains invalid variables: {message}"
            yield other.refuse("KV143", text, path)
    for message, path in user_dependencies(subject.policy):
        yield subject.refuse("KV143", f"{_ON_UPDATE}{message} ")._replace(
            location=subject.policy.document.locate(path)
        )
