"""Policies in CEL: what is refused.

Source of the rules: upstream pkg/cel/policies/vpol/validate.go.
"""

from collections.abc import Iterator

from kyvsim.compile import CompileOptions
from kyvsim.kube.go_text import quote
from kyvsim.languages.cel import expression_problems, resources_of
from kyvsim.model.policy import Policy
from kyvsim.model.source import Path

_UNMATCHED = (
    "spec.matchConstraints: Required value: "
    "a matchConstraints with at least one resource rule is required"
)


def cel_policy_problems(policy: Policy, options: CompileOptions) -> Iterator[str]:
    """Yield what is wrong with a policy, each as `field: what: why`."""
    for problem in expression_problems(policy, options):
        text = f"Invalid value: {quote(problem.text)}: {problem.message}"
        yield f"{_field(problem.path)}: {text}"
    if not resources_of(policy):
        yield _UNMATCHED


def _field(path: Path) -> str:
    shown = "".join(f"[{one}]" if isinstance(one, int) else f".{one}" for one in path)
    return shown.removeprefix(".")
