"""Kinds in match and exclude blocks: whether the cluster serves them.

Source of the rules and texts: upstream pkg/validation/policy/validate.go (validKinds). That one
unknown kind beside known ones is let pass with a warning, and nothing but unknown kinds is not, is
what upstream's end-to-end tests `policy-validation/cluster-policy/crd-non-exist` and
`webhooks/unknown-kind` show.
"""

from collections.abc import Iterator
from typing import NamedTuple

from kyvsim.model.facts import Filter
from kyvsim.model.policy import Policy, Rule
from kyvsim.sim.server import Store
from kyvsim.sim.server.served_kinds import find_kinds


class KindProblem(NamedTuple):
    """What is wrong with the kinds of a policy."""

    refusal: str = ""
    """Why the policy is refused."""
    warning: str = ""
    """What is said of a policy that is let pass, without a look at anything else."""


def kind_problem(policy: Policy, store: Store) -> KindProblem | None:
    """Return the first problem with a policy's kinds, or None."""
    for position, rule in enumerate(policy.rules):
        for entry in _filters(rule):
            problem = _problem(policy, rule, entry, store)
            if problem is None:
                continue
            place = f"path: spec.rules[{position}].{entry.text_path}.kinds: "
            refusal = place + problem.refusal if problem.refusal else ""
            return problem._replace(refusal=refusal)
    return None


def cluster_wide_kinds(rule: Rule, position: int) -> Iterator[tuple[str, str]]:
    """Yield every kind that a rule names, with its path."""
    for entry in _filters(rule):
        for index, kind in enumerate(entry.kinds):
            yield kind, f"spec.rules[{position}].{entry.text_path}.kinds[{index}]"


def _filters(rule: Rule) -> Iterator[Filter]:
    yield from rule.facts.match
    yield from rule.facts.exclude


def _problem(policy: Policy, rule: Rule, entry: Filter, store: Store) -> KindProblem | None:
    if "*" in entry.kinds:
        return None
    scans = policy.background and rule.facts.section == "validate"
    unknown = []
    for kind in entry.kinds:
        found = find_kinds(kind, store)
        if not found:
            unknown.append(kind)
        elif scans and any(part for *_, part in found):
            return KindProblem(refusal=f"background scan enabled with subresource {kind}")
    if not unknown:
        return None
    told = f"unable to convert GVK to GVR for kinds {unknown[0]}, err: resource not found"
    if len(unknown) == len(entry.kinds):
        return KindProblem(refusal=told)
    return KindProblem(warning=f"the kind defined in the all match resource is invalid: {told}")
