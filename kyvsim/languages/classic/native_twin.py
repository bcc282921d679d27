"""Whether an admission policy of Kubernetes can replace a ClusterPolicy, and its parts.

Source of the rules: upstream pkg/admissionpolicy (kyvernopolicy_checker.go, builder.go).
"""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from kyvsim.kubernetes.objects import Json
from kyvsim.kubernetes.wildcard import has_wildcard, matches
from kyvsim.model.policy import Policy, PolicyException
from kyvsim.policy.rule import admission_policy_fields
from kyvsim.policy.tree import MatchBlock, ResourceFilter
from kyvsim.policy.visit import written_at

_ACTIONS = MappingProxyType({"enforce": ("Deny",), "audit": ("Audit", "Warn")})


class NativeTwin(NamedTuple):
    """The parts of an admission policy from a rule and its exceptions."""

    match: tuple[ResourceFilter, ...]
    exclude: tuple[ResourceFilter, ...]
    """Including filters of the exceptions."""
    body: Mapping[str, Json]
    """Fields of the admission policy's specification, as in the rule."""
    actions: tuple[str, ...]
    parameters: Json
    """The reference to the binding's parameters, or None."""


def native_twin(policy: Policy, exceptions: Iterable[PolicyException]) -> NativeTwin:
    """Return the parts of the admission policy for a policy with one rule in CEL."""
    (rule,) = policy.rules
    cel = rule.tree.validate and rule.tree.validate.cel
    reference = cel and cel.param_ref
    # Exceptions cannot have the legacy form, which is last.
    excepted = (one for exception in exceptions for one in exception.match.filters[:-1])
    action = rule.facts.action.own or policy.facts.action.own or "Audit"
    return NativeTwin(
        match=_in_order(rule.tree.match),
        exclude=(*_in_order(rule.tree.exclude), *excepted),
        body=admission_policy_fields(rule.tree),
        actions=_ACTIONS.get(action.lower(), ()),
        parameters=reference and written_at(rule.tree, reference.path),
    )


def counted_exceptions(
    policy: Policy, exceptions: Iterable[PolicyException]
) -> list[PolicyException]:
    """Return the exceptions from the first rule of a policy, in any namespace."""
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
    """Return why no admission policy can replace a policy, or "".

    None if the policy validates nothing.
    """
    if not any(rule.facts.section == "validate" for rule in policy.rules):
        return None
    problem = _of_policy(policy) or next(filter(None, map(_of_exception, exceptions)), "")
    return f"skip generating ValidatingAdmissionPolicy{problem}" if problem else ""


def has_native_twin(policy: Policy) -> bool:
    """Return whether an admission policy could replace a policy, wanted or not."""
    return not _of_policy(policy, wanted=True)


def _of_policy(policy: Policy, *, wanted: bool = False) -> str:
    if len(policy.rules) != 1:
        return ": multiple rules are not applicable."
    (rule,) = policy.rules
    cel = rule.tree.validate and rule.tree.validate.cel
    if cel is None:
        return " for non CEL rules."
    if cel.generate is not True and not wanted:
        return ": validate.cel.generate is not set to true."
    for overrides in (policy.facts.action.overrides, rule.facts.action.overrides):
        if len(overrides) > 1:
            return ": multiple validationFailureActionOverrides are not applicable."
        if overrides and overrides[0].namespaces:
            return ": Namespaces in validationFailureActionOverrides is not applicable."
    return _of_block(rule.tree.match, "match") or _of_block(rule.tree.exclude, "exclude")


def _of_exception(exception: PolicyException) -> str:
    if any(len(one.rules) > 1 for one in exception.exceptions):
        return ": multiple ruleNames in PolicyException is not applicable."
    if exception.conditions is not None:
        return ": Conditions in PolicyException is not applicable."
    return _of_groups(exception.match, "the PolicyException's match block", matching=False)


def _of_block(block: MatchBlock | None, name: str) -> str:
    if block is None:
        return ""
    matching = name == "match"
    problem = _of_filter(block.own, matching=matching)
    return problem or _of_groups(block, f"the {name} block", matching=matching)


def _of_groups(block: MatchBlock, where: str, *, matching: bool) -> str:
    problem = _of_filters(block.any or (), matching=matching)
    every = block.all or ()
    if not problem and len(every) > 1:
        return f": multiple 'all' in {where} is not applicable."
    return problem or _of_filters(every, matching=matching)


def _of_filters(found: Sequence[ResourceFilter], *, matching: bool) -> str:
    problems = (_of_filter(one, matching=matching) for one in found)
    if problem := next(filter(None, problems), ""):
        return problem
    selects = any((one.namespace_selector, one.selector) != (None, None) for one in found)
    where = ": NamespaceSelector / ObjectSelector"
    if selects and not matching:
        return f"{where} in the exclude block is not applicable."
    if selects and len(found) > 1:
        return f"{where} across multiple resources in the match block are not applicable."
    return ""


def _of_filter(one: ResourceFilter, *, matching: bool) -> str:
    if one.names_users:
        return ": Roles / ClusterRoles / Subjects in `any/all` is not applicable."
    if not matching and one.kinds and one.namespaces:
        return ": excluding a resource within a namespace is not applicable."
    if one.annotations:
        return ": Annotations in resource description is not applicable."
    if any(map(has_wildcard, one.all_names)):
        return ": wildcards in resource name is not applicable."
    if any(map(has_wildcard, one.namespaces)):
        return ": wildcards in namespace name is not applicable."
    return ""


def _in_order(block: MatchBlock | None) -> tuple[ResourceFilter, ...]:
    """Return the filters of a block in upstream's order: the legacy form, any, all."""
    if block is None:
        return ()
    legacy = (block.own,) if block.own.has_resources or block.own.names_users else ()
    return (*legacy, *(block.any or ()), *(block.all or ()))
