"""The autogen rules of a policy, and the Pod controllers that they apply to.

Source of the rules: upstream pkg/autogen/v1. The policy is checked as a whole: one rule that cannot
be rewritten disables autogen for all of them.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from types import MappingProxyType
from typing import NamedTuple

from kyvsim.languages.classic.rule_type import derived_rule
from kyvsim.model.policy import Policy, Rule
from kyvsim.policy.autogen import (
    ANNOTATION,
    CONTROLLERS,
    CRON_JOB,
    JOB_TEMPLATE,
    TEMPLATE,
    PodTemplate,
    blocker_of,
    contains_pod,
    for_controllers,
    for_cron_jobs,
    is_derived,
    with_expressions,
)
from kyvsim.policy.rule import PolicyNode
from kyvsim.policy.tree import MatchBlock

POD_CONTROLLERS = frozenset({CRON_JOB, *CONTROLLERS})
_PREFIX = "autogen-"


class DerivedRule(NamedTuple):
    """An autogen rule for CronJobs or for all other controllers."""

    make: Callable[[], Rule]
    """Returns the rule; it is created on first use."""
    written: Rule
    for_cron_jobs: bool

    @property
    def rule(self) -> Rule:
        """The whole rule."""
        return self.make()


class ComputedRules(NamedTuple):
    """The rules of a policy, including those derived for Pod controllers."""

    written: tuple[Rule, ...]
    derived: tuple[DerivedRule, ...] = ()
    """For each written rule: the one for controllers, then the one for CronJobs."""
    controllers: frozenset[str] = frozenset()
    """Kinds whose objects are evaluated with autogen rules in the validate phase."""
    of_other_kinds: Mapping[str, tuple[DerivedRule, ...]] = MappingProxyType({})
    """The rules for each name in the annotation that is not a controller.

    The validate phase derives rules for the kind of one object at a time, so that a name beside
    controllers, such as `Pod`, has rules there that do not exist in other phases.
    upstream: pkg/engine/validation.go
    """

    @property
    def retained(self) -> tuple[Rule, ...]:
        """The written rules that are kept besides autogen rules."""
        if not self.derived:
            return self.written
        return tuple(rule for rule in self.written if not rule.name.startswith(_PREFIX))

    @property
    def every(self) -> tuple[Rule, ...]:
        """All rules, as in the mutate and generate phases."""
        return self.retained + tuple(one.rule for one in self.derived)

    def for_kind(self, kind: str) -> tuple[Rule, ...]:
        """Return the rules of the validate phase for objects of a kind."""
        if kind not in self.controllers:
            return self.written
        derived = self.of_other_kinds.get(kind)
        if derived is None:
            derived = tuple(one for one in self.derived if one.for_cron_jobs == (kind == CRON_JOB))
        return self.retained + tuple(one.rule for one in derived) if derived else self.written


def compute_rules(policy: Policy) -> ComputedRules:
    """Return the policy's rules with its autogen rules."""
    annotation = policy.annotations.get(ANNOTATION)
    names = [CRON_JOB, *CONTROLLERS] if annotation is None else str(annotation).split(",")
    if names == ["none"] or any(blocker_of(rule.tree) for rule in policy.rules):
        return ComputedRules(policy.rules)
    filters = (one for rule in policy.rules for one in rule.tree.filters)
    if all({"Pod", *POD_CONTROLLERS}.isdisjoint(one.kinds) for one in filters):
        return ComputedRules(policy.rules)

    def derive(kinds: list[str]) -> tuple[DerivedRule, ...]:
        return tuple(one for rule in policy.rules for one in _derive(rule, policy.tree, kinds))

    others = {name: derive([name]) for name in names if name not in POD_CONTROLLERS}
    return ComputedRules(policy.rules, derive(names), frozenset(names), others)


def _kinds_of(block: MatchBlock | None) -> list[str]:
    return [kind for one in (block.filters if block else ()) for kind in one.kinds]


def _derive(rule: Rule, policy: PolicyNode, names: list[str]) -> Iterator[DerivedRule]:
    """Yield the autogen rules of a rule: for controllers, then for CronJobs.

    Their number is known at once. They are created on first use: in most runs no object
    is a controller.
    """
    tree = rule.tree
    excluded = _kinds_of(tree.exclude)
    if (
        rule.name.startswith(_PREFIX)
        or not contains_pod(_kinds_of(tree.match))
        or (excluded and not contains_pod(excluded))
        or not is_derived(tree)
    ):
        return

    def made(make: Callable[[], dict[str, object]], template: PodTemplate) -> Rule:
        fields = tuple(template.path.split("/"))
        return derived_rule(rule, with_expressions(make(), template), fields, policy)

    others = [kind for kind in names if kind != CRON_JOB]
    of_controllers = cache(lambda: for_controllers(tree.data, others))
    # An empty annotation is a list with an empty name, which is not a controller.
    if any(others):
        yield DerivedRule(cache(lambda: made(of_controllers, TEMPLATE)), rule, for_cron_jobs=False)
    # upstream searches both words anywhere in the joined names
    if not any(word in name for name in names for word in (CRON_JOB, "all")):
        return
    # If a controller is named, other names make no difference.
    are_alike = not CONTROLLERS.keys().isdisjoint(others)
    inner = of_controllers if are_alike else cache(lambda: for_controllers(tree.data, names))
    of_cron_jobs = cache(lambda: made(lambda: for_cron_jobs(inner(), tree.data), JOB_TEMPLATE))
    yield DerivedRule(of_cron_jobs, rule, for_cron_jobs=True)
