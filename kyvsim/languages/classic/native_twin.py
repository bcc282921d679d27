"""Whether an admission policy of Kubernetes can replace a ClusterPolicy, and what it takes of it.

Source of the rules: upstream pkg/admissionpolicy (kyvernopolicy_checker.go, builder.go).
"""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from kyvsim.kubernetes.objects import Json
from kyvsim.kubernetes.wildcard import has_wildcard, matches
from kyvsim.model.exceptions import PolicyException
from kyvsim.model.policy import FailureAction, Policy
from kyvsim.policy.cel_policy import CelValidation
from kyvsim.policy.rule import RuleNode, admission_policy_fields
from kyvsim.policy.tree import MatchBlock, ResourceFilter
from kyvsim.policy.visit import written_at

_SKIPPED = "skip generating ValidatingAdmissionPolicy"
_ACTIONS = MappingProxyType({"enforce": ("Deny",), "audit": ("Audit", "Warn")})


class NativeTwin(NamedTuple):
    """What an admission policy takes of a rule, and of the exceptions from it."""

    match: tuple[ResourceFilter, ...]
    exclude: tuple[ResourceFilter, ...]
    """Including what the exceptions exempt."""
    body: Mapping[str, Json]
    """Fields of the admission policy's specification, as in the rule."""
    actions: tuple[str, ...]
    parameters: Json
    """Which objects the binding takes the parameters from, or None."""


def native_twin(policy: Policy, exceptions: Iterable[PolicyException]) -> NativeTwin:
    """Return what the admission policy for a policy with one rule in CEL is made of."""
    (rule,) = policy.rules
    cel = _cel_of(rule.tree)
    reference = cel and cel.param_ref
    # Exceptions cannot have the legacy form, which comes last.
    excepted = (one for exception in exceptions for one in exception.match.filters[:-1])
    action = rule.facts.action.own or policy.facts.action.own or "Audit"
    return NativeTwin(
        match=_in_order(rule.tree.match),
        exclude=(*_in_order(rule.tree.exclude), *excepted),
        body=admission_policy_fields(rule.tree),
        actions=_ACTIONS.get(action.lower(), ()),
        parameters=reference and written_at(rule.tree, reference.path),
    )


def _cel_of(rule: RuleNode) -> CelValidation | None:
    return rule.validate.cel if rule.validate else None


def counted_exceptions(
    policy: Policy, exceptions: Iterable[PolicyException]
) -> list[PolicyException]:
    """Return the exceptions from the first rule of a policy, wherever they are."""
    if not policy.rules:
        return []
    name = policy.rules[0].name
    return [
        exception
        for exception in exceptions
        if any(
            one.policy == policy.name and any(matches(text, name) for text in one.rules)
            for one in exception.exceptions
        )
    ]


def why_no_native_twin(policy: Policy, exceptions: Iterable[PolicyException]) -> str | None:
    """Return why there is no admission policy for a policy, "" where there can be one.

    None if nothing of the policy validates.
    """
    if not any(rule.facts.section == "validate" for rule in policy.rules):
        return None
    return _of_policy(policy) or next(filter(None, map(_of_exception, exceptions)), "")


def _of_policy(policy: Policy) -> str:
    if len(policy.rules) > 1:
        return f"{_SKIPPED}: multiple rules are not applicable."
    (rule,) = policy.rules
    cel = _cel_of(rule.tree)
    if cel is None:
        return f"{_SKIPPED} for non CEL rules."
    if cel.generate is not True:
        return f"{_SKIPPED}: validate.cel.generate is not set to true."
    return (
        _of_overrides(policy.facts.action)
        or _of_overrides(rule.facts.action)
        or _of_block(rule.tree.match, matching=True)
        or _of_block(rule.tree.exclude, matching=False)
    )


def _of_overrides(action: FailureAction) -> str:
    if len(action.overrides) > 1:
        return f"{_SKIPPED}: multiple validationFailureActionOverrides are not applicable."
    if action.overrides and action.overrides[0].namespaces:
        return f"{_SKIPPED}: Namespaces in validationFailureActionOverrides is not applicable."
    return ""


def _of_block(block: MatchBlock | None, *, matching: bool) -> str:
    if block is None:
        return ""
    where = f"the {'match' if matching else 'exclude'} block"
    problem = _of_filter(block.own, matching=matching)
    return problem or _of_groups(block, where, matching=matching)


def _of_exception(exception: PolicyException) -> str:
    if any(len(one.rules) > 1 for one in exception.exceptions):
        return f"{_SKIPPED}: multiple ruleNames in PolicyException is not applicable."
    if exception.conditions is not None:
        return f"{_SKIPPED}: Conditions in PolicyException is not applicable."
    return _of_groups(exception.match, "the PolicyException's match block", matching=False)


def _of_groups(block: MatchBlock, where: str, *, matching: bool) -> str:
    problem = _of_filters(block.any or (), matching=matching)
    every = block.all or ()
    if not problem and len(every) > 1:
        return f"{_SKIPPED}: multiple 'all' in {where} is not applicable."
    return problem or _of_filters(every, matching=matching)


def _of_filters(found: Sequence[ResourceFilter], *, matching: bool) -> str:
    problems = (_of_filter(one, matching=matching) for one in found)
    if problem := next(filter(None, problems), ""):
        return problem
    selects = any(
        selector is not None for one in found for selector in (one.namespace_selector, one.selector)
    )
    selectors = "NamespaceSelector / ObjectSelector"
    if selects and not matching:
        return f"{_SKIPPED}: {selectors} in the exclude block is not applicable."
    if selects and len(found) > 1:
        return (
            f"{_SKIPPED}: {selectors} across multiple resources in the match block are not "
            "applicable."
        )
    return ""


def _of_filter(one: ResourceFilter, *, matching: bool) -> str:
    if one.names_users:
        return f"{_SKIPPED}: Roles / ClusterRoles / Subjects in `any/all` is not applicable."
    if not matching and one.kinds and one.namespaces:
        return f"{_SKIPPED}: excluding a resource within a namespace is not applicable."
    if one.annotations:
        return f"{_SKIPPED}: Annotations in resource description is not applicable."
    if any(map(has_wildcard, one.all_names)):
        return f"{_SKIPPED}: wildcards in resource name is not applicable."
    if any(map(has_wildcard, one.namespaces)):
        return f"{_SKIPPED}: wildcards in namespace name is not applicable."
    return ""


def _in_order(block: MatchBlock | None) -> tuple[ResourceFilter, ...]:
    """Return the filters of a block as upstream looks at them: the legacy form, any, all."""
    if block is None:
        return ()
    legacy = (block.own,) if block.own.has_resources or block.own.names_users else ()
    return (*legacy, *(block.any or ()), *(block.all or ()))
