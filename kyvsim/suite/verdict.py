"""One rule's result beside what a row expects of it.

upstream: cmd/cli/kubectl-kyverno/commands/test/command.go
"""

from typing import NamedTuple

from kyvsim.kubernetes.objects import Json
from kyvsim.model.policy import Policy
from kyvsim.model.result import RuleResult, RuleStatus
from kyvsim.model.suite import Difference, ExpectedRow, Golden
from kyvsim.suite.compare import Comparison, Files, compare_any

_PATCHED = "Patched resource didn't match the patched resource in the test"
_GENERATED = "Generated resource didn't match the expected resource"
_AUTOGEN = "autogen-"
_PREFIXES = (_AUTOGEN, "autogen-cronjob-")


class Left(NamedTuple):
    """What one result of a rule left behind."""

    policy: Policy
    result: RuleResult
    object: Json


class Verdict(NamedTuple):
    """Whether a result is as expected, and what to say of it."""

    passed: bool
    reason: str
    message: str = ""
    difference: Difference | None = None
    missing: bool = False
    """Whether the object was not among those of the row's file."""
    goldens: tuple[Golden, ...] = ()
    """What the files should hold, where the status is as expected."""


def means_rule(row: ExpectedRow, policy: Policy, name: str) -> bool:
    """Return whether a row means a policy's rule of this name."""
    return not policy.facts.has_rules or names_rule(row, name)


def names_rule(row: ExpectedRow, name: str) -> bool:
    """Return whether a row names the rule of this name: its own, or one derived from it."""
    own = row.rule
    if not own or name == own:
        return True
    return is_derived(name) and name in [prefix + own for prefix in _PREFIXES]


def is_derived(name: str) -> bool:
    """Return whether a rule may be derived, by its name."""
    return name.startswith(_AUTOGEN)


def weigh(row: ExpectedRow, left: Left, files: Files) -> Verdict:
    """Return how a result, and the object it left, stand to what the row expects."""
    status = weigh_status(row, left.policy, left.result)
    compared = [
        (compare_any(left.object, names, files), text)
        for names, text in (((row.patched,), _PATCHED), (row.generated, _GENERATED))
        if any(names)
    ]
    files_found = (found.file for found, _ in compared if found.file and status.passed)
    goldens = tuple(Golden(file, left.object) for file in files_found)
    unequal = next((_unequal(*one) for one in compared if not one[0].equal), status)
    return unequal._replace(goldens=goldens)


def weigh_status(row: ExpectedRow, policy: Policy, result: RuleResult) -> Verdict:
    """Return how a result's status stands to the one that the row expects."""
    status = status_of(policy, result)
    if status != row.result:
        told = "\n".join(filter(None, (result.message, result.note)))
        return Verdict(False, f"Want {row.result}, got {status}", told)
    return Verdict(True, "Ok", result.message)


def status_of(policy: Policy, result: RuleResult) -> str:
    """Return the status as reports show it: failures of an unscored policy are warnings."""
    if result.status is RuleStatus.FAIL and not policy.scored:
        return RuleStatus.WARN.value
    return result.status.value


def _unequal(found: Comparison, message: str) -> Verdict:
    if found.problem:
        return Verdict(False, "Resource error", found.problem, missing=found.missing)
    return Verdict(False, "Resource diff", message, found.difference)
