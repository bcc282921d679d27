"""What a policy in CEL asks of the webhook through which it is asked.

Source of the rules: upstream pkg/controllers/webhook (validating.go, match_conditions.go),
pkg/cel/autogen.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from types import MappingProxyType
from typing import NamedTuple

from kyvsim.cel import CompileError, compile_expression
from kyvsim.cel.kubernetes import kubernetes_environment
from kyvsim.cel.types import BOOL
from kyvsim.engine.match import Predicate
from kyvsim.kubernetes.discovery import NO_KINDS, KindTable, kind_of_plural
from kyvsim.kubernetes.objects import Json
from kyvsim.languages.cel.autogen import Variant, is_about_pods
from kyvsim.languages.cel.facts import generates, generating_facts
from kyvsim.languages.constraints import compile_constraints
from kyvsim.model.policy import Policy

_NAMES = ("apiGroups", "apiVersions", "resources")
_EVERY_OPERATION = ("CREATE", "UPDATE", "DELETE", "CONNECT")
"""What a policy that generates is told of, whatever it lists: it cleans up for what leaves it."""
_WITHOUT_VARIANTS = frozenset(
    {("NamespacedValidatingPolicy", False), ("NamespacedImageValidatingPolicy", True)}
)
"""Kinds of which a webhook does not name what is derived: one of its own (True), or a shared one.

upstream: validating.go `buildWebhookRules`, which asks for the Go type of a policy in some places
and for what it has in common with its namespaced twin in others.
"""
_OF_NO_WEBHOOK = "namespaceObject"
"""What the API server knows the type of, and has no value for where webhooks are chosen."""
_POD: Mapping[str, Json] = MappingProxyType(
    {"apiGroups": ("",), "apiVersions": ("v1",), "resources": ("pods",)}
)


class WebhookFacts(NamedTuple):
    """What a webhook needs to know of a policy."""

    rules: tuple[Json, ...]
    """Resource rules of the policy, then those of its variants."""
    namespace_selector: Json
    object_selector: Json
    conditions: tuple[tuple[str, str], ...]
    """Names and texts of what the API server asks before."""
    alone: bool
    """Whether the policy needs a webhook of its own."""
    exact: bool
    """Whether other versions of a resource do not count."""
    timeout: int | None
    takes: Predicate
    """Whether its rules take a request."""


def webhook_facts(
    policy: Policy, variants: Iterable[Variant], kinds: KindTable = NO_KINDS
) -> WebhookFacts:
    """Return what a webhook needs to know of a policy."""
    spec = policy.spec
    constraints = spec.get("matchConstraints") or {}
    conditions = _pushed(spec)
    makes = generates(policy.kind)
    if makes and conditions and generating_facts(policy).synchronizes:
        conditions = [
            (name, f"request.operation != 'CREATE' || ({text})") for name, text in conditions
        ]
    exact = constraints.get("matchPolicy") == "Exact"
    timeout = (spec.get("webhookConfiguration") or {}).get("timeoutSeconds")
    alone = conditions is not None or exact or timeout is not None
    derived = [] if (policy.kind, alone) in _WITHOUT_VARIANTS else [*variants]
    rules = [*_rules(spec), *(rule for one in derived for rule in _rules(one.spec))]
    texts = tuple(_texts(spec, derived, conditions)) if conditions is not None else ()
    if makes:
        rules = [{**rule, "operations": list(_EVERY_OPERATION)} for rule in rules]
    return WebhookFacts(
        rules=tuple(rules),
        namespace_selector=constraints.get("namespaceSelector"),
        object_selector=constraints.get("objectSelector"),
        conditions=texts,
        alone=alone,
        exact=exact,
        timeout=timeout,
        takes=compile_constraints({"resourceRules": rules}, "", kinds).matches,
    )


def matched_resources(spec: Mapping[str, Json]) -> Iterator[tuple[str, str, str]]:
    """Yield group, version and resource of all that constraints name."""
    for rule in _rules(spec):
        yield from product(*(rule.get(name) or () for name in _NAMES))


def _rules(spec: Mapping[str, Json]) -> Iterator[Json]:
    for rule in (spec.get("matchConstraints") or {}).get("resourceRules") or ():
        yield {name: value for name, value in rule.items() if name != "resourceNames" or value}


def _pushed(spec: Mapping[str, Json]) -> list[tuple[str, str]] | None:
    """Return the conditions that the API server can be asked, None where it cannot or has none."""
    written = spec.get("matchConditions") or ()
    if not written:
        return None
    env = kubernetes_environment(authorizer=True)
    found = []
    for one in written:
        try:
            program = compile_expression(one["expression"], env, BOOL)
        except CompileError:
            return None
        if _OF_NO_WEBHOOK not in program.reads:
            found.append((one["name"], one["expression"]))
    return found


def _texts(
    spec: Mapping[str, Json], derived: Iterable[Variant], own: list[tuple[str, str]]
) -> Iterator[tuple[str, str]]:
    if not is_about_pods(spec.get("matchConstraints") or {}):
        yield from own
        return
    yield from _for_kinds("autogen", [_POD], own)
    for one in sorted(derived, key=lambda one: one.name):
        pushed = _pushed(one.spec) or []
        yield from _for_kinds(f"autogen-{one.name}", list(_rules(one.spec)), pushed)


def _for_kinds(
    prefix: str, rules: Iterable[Mapping[str, Json]], conditions: Iterable[tuple[str, str]]
) -> Iterator[tuple[str, str]]:
    """Yield conditions that hold for all objects but those of some kinds."""
    kinds = {
        f"(object.apiVersion == '{f'{group}/' if group else ''}{version}' "
        f"&& object.kind =='{kind_of_plural(group, resource)}')"
        for rule in rules
        for group, version, resource in product(*(rule[name] for name in _NAMES))
    }
    for name, text in conditions:
        yield f"{prefix}-{name}", f"!({' || '.join(sorted(kinds))}) || ({text})"
