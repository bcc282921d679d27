"""Rules for pod controllers, derived from rules for Pods.

Source of the rules: upstream pkg/autogen/v1. A policy is looked at as a whole: one rule that cannot
be rewritten disables autogen for all of them.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from types import MappingProxyType
from typing import NamedTuple

from kyvsim.kubernetes.discovery import parse_kind_selector
from kyvsim.kubernetes.objects import Json, contains_text
from kyvsim.languages.classic.facts import with_facts
from kyvsim.languages.classic.rule_type import PodTemplate, rewrite_conditions
from kyvsim.languages.classic.rules import rule_types_of
from kyvsim.model.policy import Policy, Rule
from kyvsim.policy.tree import NO_MATCH, MatchBlock, PolicyNode

ANNOTATION = "pod-policies.kyverno.io/autogen-controllers"

CRON_JOB = "CronJob"
_CONTROLLERS = MappingProxyType(
    {
        "DaemonSet": "apps/v1/DaemonSet",
        "Deployment": "apps/v1/Deployment",
        "Job": "batch/v1/Job",
        "ReplicaSet": "apps/v1/ReplicaSet",
        "ReplicationController": "v1/ReplicationController",
        "StatefulSet": "apps/v1/StatefulSet",
    }
)
_CRON_JOB_SELECTOR = "batch/v1/CronJob"
_SELECTORS = MappingProxyType({**_CONTROLLERS, CRON_JOB: _CRON_JOB_SELECTOR, "Pod": "v1/Pod"})
POD_CONTROLLERS = frozenset({CRON_JOB, *_CONTROLLERS})
"""The kinds for which rules are derived."""
_POD_KINDS = frozenset({"Pod", *POD_CONTROLLERS})
_TEMPLATE = PodTemplate("template", "spec/template")
_JOB_TEMPLATE = PodTemplate("jobTemplate", "spec/jobTemplate/spec/template")
_MAX_NAME = 63
_PREFIX = "autogen-"


class DerivedRule(NamedTuple):
    """A rule made from one for Pods, for CronJobs or for all other controllers."""

    make: Callable[[], Rule]
    """Returns the rule, always the same: it is made on first use."""
    written: Rule
    """The rule it is made from."""
    for_cron_jobs: bool

    @property
    def rule(self) -> Rule:
        """The whole rule."""
        return self.make()


class ComputedRules(NamedTuple):
    """The rules of a policy together with those derived for pod controllers."""

    written: tuple[Rule, ...]
    derived: tuple[DerivedRule, ...] = ()
    """For each written rule in turn: the one for controllers, then the one for CronJobs."""
    controllers: frozenset[str] = frozenset()
    """Kinds whose objects meet derived rules in the validate phase."""
    of_other_kinds: Mapping[str, tuple[DerivedRule, ...]] = MappingProxyType({})
    """For each name in the annotation that is not a controller: the rules for its objects.

    The validate phase derives rules for the kind of one object at a time, so that a name beside
    controllers, such as `Pod`, has rules there that other phases leave out.
    upstream: pkg/engine/validation.go
    """

    @property
    def retained(self) -> tuple[Rule, ...]:
        """The written rules that are kept beside derived ones."""
        if not self.derived:
            return self.written
        return tuple(rule for rule in self.written if not rule.name.startswith(_PREFIX))

    @property
    def every(self) -> tuple[Rule, ...]:
        """All rules, as the mutate and generate phases take them."""
        return self.retained + tuple(one.rule for one in self.derived)

    def for_kind(self, kind: str) -> tuple[Rule, ...]:
        """Return the rules that the validate phase takes for objects of a kind."""
        if kind not in self.controllers:
            return self.written
        derived = self.of_other_kinds.get(kind)
        if derived is None:
            derived = tuple(one for one in self.derived if one.for_cron_jobs == (kind == CRON_JOB))
        return self.retained + tuple(one.rule for one in derived) if derived else self.written


def compute_rules(policy: Policy) -> ComputedRules:
    """Return the policy's rules with those derived for its controllers."""
    annotation = policy.annotations.get(ANNOTATION)
    names = [CRON_JOB, *_CONTROLLERS] if annotation is None else str(annotation).split(",")
    if names == ["none"] or any(map(autogen_blocker, policy.rules)):
        return ComputedRules(policy.rules)
    filters = (one for rule in policy.rules for one in rule.tree.filters)
    if all(_POD_KINDS.isdisjoint(one.kinds) for one in filters):
        return ComputedRules(policy.rules)

    def derive(kinds: list[str]) -> tuple[DerivedRule, ...]:
        return tuple(one for rule in policy.rules for one in _derive(rule, policy.tree, kinds))

    others = {name: derive([name]) for name in names if name not in POD_CONTROLLERS}
    return ComputedRules(policy.rules, derive(names), frozenset(names), others)


def autogen_blocker(rule: Rule) -> str:
    """Return why a rule switches derivation off for its whole policy, or ""."""
    for rule_type in rule_types_of(rule.data):
        found = rule_type.autogen.blocker(rule.data[rule_type.section])
        if found:
            return found
    for one in rule.tree.filters:
        if one.selector is not None or one.annotations is not None or one.all_names:
            return "it selects by name, labels or annotations"
        if len(one.kinds) > 1 and _contains_pod(one.kinds):
            return "it matches other kinds besides Pod"
    return ""


def _kinds_of(block: MatchBlock) -> list[str]:
    return [kind for one in block.filters for kind in one.kinds]


def _contains_pod(kinds: Iterable[str]) -> bool:
    return any(parse_kind_selector(text).kind == "Pod" for text in kinds)


def _derive(rule: Rule, policy: PolicyNode, names: list[str]) -> Iterator[DerivedRule]:
    """Yield what is derived of a rule: for controllers, then for CronJobs.

    Their number is known at once. They are made on first use: in most runs no object
    is a controller.
    """
    excluded = _kinds_of(rule.tree.exclude or NO_MATCH)
    if (
        rule.name.startswith(_PREFIX)
        or not _contains_pod(_kinds_of(rule.tree.match))
        or (excluded and not _contains_pod(excluded))
        # Its body cannot be moved into a Pod template.
        or next(_rewritten_sections(rule.data, _TEMPLATE), None) is None
    ):
        return
    others = [kind for kind in names if kind != CRON_JOB]
    for_controllers = cache(lambda: _for_controllers(rule, others))
    # An empty annotation gives a list with an empty name, which is not a controller.
    if any(others):
        made = cache(lambda: with_facts(_rewrite(for_controllers(), "spec.template"), policy))
        yield DerivedRule(made, rule, for_cron_jobs=False)
    # upstream looks for both words anywhere in the joined names
    if not any(word in name for name in names for word in (CRON_JOB, "all")):
        return
    # If a controller is named, other names make no difference.
    are_alike = not _CONTROLLERS.keys().isdisjoint(others)
    inner = for_controllers if are_alike else cache(lambda: _for_controllers(rule, names))

    def with_cron_job(block: Json) -> Json:
        resources = {**(block.get("resources") or {}), "kinds": [_CRON_JOB_SELECTOR]}
        return {**block, "resources": resources}

    def make() -> Rule:
        data = _with_matches(inner().data, [_CRON_JOB_SELECTOR], with_cron_job)
        wrapped = _wrap(rule, data, "autogen-cronjob", _JOB_TEMPLATE)
        return with_facts(_rewrite(wrapped, "spec.jobTemplate.spec.template"), policy)

    yield DerivedRule(cache(make), rule, for_cron_jobs=True)


def _for_controllers(rule: Rule, names: list[str]) -> Rule:
    kinds = sorted(kind for kind in names if kind in _CONTROLLERS) or sorted(names)
    selectors = [_SELECTORS.get(kind, kind) for kind in kinds]

    def with_kinds(block: Json) -> Json:
        resources = block.get("resources") or {}
        if not _contains_pod(resources.get("kinds") or ()):
            return block
        return {**block, "resources": {**resources, "kinds": selectors}}

    return _wrap(rule, _with_matches(rule.data, selectors, with_kinds), "autogen", _TEMPLATE)


def _with_matches(
    data: Mapping[str, Json], selectors: list[str], with_kinds: Callable[[Json], Json]
) -> dict[str, Json]:
    changed = dict(data)
    for name in ("match", "exclude"):
        block = data.get(name) or {}
        resources = block.get("resources") or {}
        quantifier = next((one for one in ("any", "all") if block.get(one)), None)
        if quantifier is not None:
            changed[name] = {**block, quantifier: [with_kinds(one) for one in block[quantifier]]}
        elif name == "match" or resources.get("kinds"):
            changed[name] = {**block, "resources": {**resources, "kinds": selectors}}
    return changed


_KEPT = (
    "skipBackgroundRequests",
    "reportProperties",
    "match",
    "exclude",
    "context",
    "celPreconditions",
    "preconditions",
)


def _wrap(rule: Rule, data: Mapping[str, Json], prefix: str, template: PodTemplate) -> Rule:
    """Return the rule with its body moved into the Pod template; what was moved can be again."""
    body = next(_rewritten_sections(data, template))
    name = f"{prefix}-{rule.name}"[:_MAX_NAME]
    kept = {field: data[field] for field in _KEPT if data.get(field)}
    if "preconditions" in kept:
        kept["preconditions"] = rewrite_conditions(kept["preconditions"])
    return replace(
        rule,
        name=name,
        data={"name": name, **kept, **body},
        autogen_prefix=tuple(template.path.split("/")),
    )


def _rewritten_sections(
    data: Mapping[str, Json], template: PodTemplate
) -> Iterator[dict[str, Json]]:
    for one in rule_types_of(data):
        rewritten = one.autogen.rewrite(data[one.section], template)
        if rewritten is not None:
            yield {one.section: rewritten}


def _rewrite(rule: Rule, path: str) -> Rule:
    """Return the rule with expressions that read the Pod changed to read the template.

    upstream replaces text in the rule's JSON form, without a look at word boundaries.
    """
    sources = next(rule_types_of(rule.data)).autogen.sources
    replacements = tuple(
        (f"{source}.{part}", f"{source}.{path}.{part}")
        for part in ("spec", "metadata")
        for source in sources
    )
    if not contains_text((rule.name, rule.data), *(old for old, _ in replacements)):
        return rule
    text = json.dumps((rule.name, rule.data))
    for old, new in replacements:
        text = text.replace(old, new)
    name, data = json.loads(text)
    return replace(rule, name=name, data=data)
