"""What of a policy only a request tells: its user, and variables of its own."""

from kyvsim.languages.classic.checks.allowed_variables import invalid_variables
from kyvsim.languages.classic.checks.refusal import rules_under_check
from kyvsim.languages.classic.checks.user_variables import user_dependencies
from kyvsim.model.policy import Policy


def needs_request(policy: Policy) -> bool:
    """Return whether a policy cannot be looked at in the background."""
    if any(True for _ in user_dependencies(policy)):
        return True
    subjects = rules_under_check(policy)
    return any(True for one in subjects for _ in invalid_variables(one, background=True))
