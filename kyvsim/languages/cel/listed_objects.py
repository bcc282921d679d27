"""The objects of a cluster that the background controller lists: targets and triggers of policies.

Targets: it lists each resource that the rules for targets name, in the selected namespaces, and
uses all of them: operations, excluded rules and conditions for requests are ignored.

Source of the rules: upstream pkg/background/mpol/processor.go (collectGVK, resolveTargetRoute),
pkg/policy/gpol.go (getGpolTriggers, triggerMatches).
"""

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

from kyvsim.kubernetes.discovery import (
    KindTable,
    kind_of_plural,
    plural,
    preferred_version,
    served_versions,
    split_api_version,
)
from kyvsim.kubernetes.labels import SelectorError, compile_selector
from kyvsim.kubernetes.objects import KubernetesObject, ObjectKey, labels, object_key
from kyvsim.kubernetes.wildcard import matches
from kyvsim.model.policy import Policy
from kyvsim.model.ports import ClusterView
from kyvsim.policy.cel_policy import MatchConstraints

_NAMESPACE = ("v1", "Namespace")


class Listing(NamedTuple):
    """One list of objects."""

    key: ObjectKey
    """apiVersion, kind and namespace ("" for all of them); no name."""
    names: tuple[str, ...]
    """The names to include; () for all."""
    subresource: str
    """The subresource that is written; "" for the object itself."""


def target_constraints(policy: Policy) -> MatchConstraints:
    """Return the constraints that select targets: their own if they have rules."""
    own = policy.cel.target_match_constraints
    if own is None or own.expression or not own.resource_rules:
        own = policy.cel.match_constraints
    return own or MatchConstraints(())


def target_listings(policy: Policy, cluster: ClusterView, kinds: KindTable) -> Iterator[Listing]:
    """Yield the lists that contain the targets; `kinds` are custom kinds."""
    selector = target_constraints(policy).namespace_selector
    places = [policy.namespace]
    if not policy.namespace and selector is not None:
        try:
            selects = compile_selector(selector)
        except SelectorError:
            return
        listed = cluster.list(*_NAMESPACE, "")
        places = [object_key(one).name for one in listed if selects(labels(one))]
    for one in named_kinds(policy, kinds):
        for place in places:
            where = "" if one.key[:2] == _NAMESPACE else place
            yield one._replace(key=one.key._replace(namespace=where))


def named_kinds(policy: Policy, kinds: KindTable) -> Iterator[Listing]:
    """Yield lists of all objects of each kind that the rules for targets name.

    Resources that are not served are skipped, and so are wildcards.
    """
    for rule in target_constraints(policy).resource_rules:
        for group, version, resource in rule.named:
            base, _, subresource = resource.partition("/")
            kind = kind_of_plural(group, base, kinds)
            served = served_versions(group, kind, kinds)
            if not kind or (served and version not in served):
                continue
            api_version = f"{group}/{version}" if group else version
            yield Listing(ObjectKey(api_version, kind, "", ""), rule.resource_names, subresource)


def selected_targets(
    policy: Policy, listing: Listing, cluster: ClusterView
) -> Iterator[KubernetesObject]:
    """Yield the selected objects of a list; raises SelectorError."""
    selects = compile_selector(target_constraints(policy).object_selector or {})
    key = listing.key
    for obj in cluster.list(key.api_version, key.kind, key.namespace):
        if selects(labels(obj)) and (not listing.names or object_key(obj).name in listing.names):
            yield obj


def written_part(policy: Policy, obj: KubernetesObject, kinds: KindTable) -> str:
    """Return the subresource to write for a target that an expression returned."""
    key = object_key(obj)
    group, version = split_api_version(key.api_version)
    named = group, version, plural(group, key.kind, kinds)
    constraints = policy.cel.target_match_constraints
    for rule in constraints.resource_rules if constraints else ():
        for some in rule.named:
            base, _, subresource = some[2].partition("/")
            wanted = (*some[:2], base)
            if all(matches(one, value) for one, value in zip(wanted, named, strict=True)):
                return subresource
    return ""


def listed_triggers(
    policy: Policy, cluster: ClusterView, kinds: KindTable
) -> Iterator[KubernetesObject]:
    """Yield the objects that the constraints of a policy name; `kinds` are custom kinds.

    There are none if a selector is invalid: upstream's list request fails. A single wildcard for
    versions is the preferred version; other wildcards, and names of subresources, are not kinds.
    """
    written = policy.cel.match_constraints or MatchConstraints(())
    try:
        selects = compile_selector(written.object_selector or {})
        compile_selector(written.namespace_selector or {})
    except SelectorError:
        return
    listed = []
    for rule in written.resource_rules:
        for group, resource in product(rule.api_groups, rule.resources):
            kind = kind_of_plural(group, resource, kinds)
            named = rule.api_versions if kind else ()
            served = served_versions(group, kind, kinds)
            if named == ("*",):
                named = served = (preferred_version(group, kind, kinds),)
            for version in named:
                if not served or version in served:
                    found = cluster.list("/".join(filter(None, (group, version))), kind, "")
                    place = (group, version, resource)
                    listed += [(rule.resource_names, place, obj) for obj in found]
    for names, place, obj in listed:
        is_named = not names or object_key(obj).name in names
        if is_named and selects(labels(obj)) and _is_selected(obj, place, policy, cluster):
            yield obj


def _is_selected(
    obj: KubernetesObject, place: tuple[str, str, str], policy: Policy, cluster: ClusterView
) -> bool:
    written, key = policy.cel.match_constraints or MatchConstraints(()), object_key(obj)
    is_namespace = key[:2] == _NAMESPACE
    if policy.namespace and policy.namespace != (key.name if is_namespace else key.namespace):
        return False
    for rule in written.exclude_resource_rules:
        names = rule.resource_names
        if place in rule.named and (not names or key.name in names):
            return False
    selector = written.namespace_selector
    if selector is None:
        return True
    if not is_namespace and cluster.get(*_NAMESPACE, "", key.namespace) is None:
        return False
    marks = labels(obj) if is_namespace else cluster.namespace_labels(key.namespace)
    return bool(compile_selector(selector)(marks))
