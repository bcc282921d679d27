"""Rule types → validations; the table names the field of each."""

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import Final, NamedTuple

from kyvsim.kubernetes.objects import Json
from kyvsim.languages.classic.rules import rule_types_of
from kyvsim.migrate.context import NotConvertible
from kyvsim.migrate.matching import WRITES
from kyvsim.migrate.rules.generate import evaluation_of, generate
from kyvsim.migrate.rules.mutate import existing, mutation
from kyvsim.migrate.rules.results import WITHOUT_DELETE, RuleConverter
from kyvsim.migrate.rules.validate import (
    any_pattern,
    cel,
    deny,
    foreach_validation,
    pattern,
    pod_security,
    reads_object,
)
from kyvsim.migrate.rules.verify_images import image_fields, verify_images
from kyvsim.migrate.settings import actions_of
from kyvsim.policy.read import read_rule

VALIDATING: Final = "ValidatingPolicy"
MUTATING: Final = "MutatingPolicy"
GENERATING: Final = "GeneratingPolicy"
IMAGES: Final = "ImageValidatingPolicy"
DERIVED: Final = frozenset({VALIDATING, IMAGES})
"""The kinds of policies that Kyverno derives policies for controllers from."""

_WHOLE: Final = ("mutate",)
"""The body of rules that patch other objects than their trigger."""

RULE_TYPES: Final[Mapping[tuple[str, ...], RuleConverter]] = MappingProxyType(
    {
        ("validate", "deny"): RuleConverter(deny, VALIDATING, WRITES, actions_of),
        ("validate", "pattern"): RuleConverter(pattern, VALIDATING, fields=actions_of),
        ("validate", "anyPattern"): RuleConverter(any_pattern, VALIDATING, fields=actions_of),
        ("validate", "foreach"): RuleConverter(foreach_validation, VALIDATING, WRITES, actions_of),
        ("validate", "podSecurity"): RuleConverter(pod_security, VALIDATING, fields=actions_of),
        ("validate", "cel"): RuleConverter(cel, VALIDATING, fields=actions_of),
        ("generate",): RuleConverter(generate, GENERATING, fields=evaluation_of),
        ("verifyImages",): RuleConverter(verify_images, IMAGES, fields=image_fields),
        _WHOLE: RuleConverter(existing, MUTATING),
        **{
            ("mutate", field): RuleConverter(partial(mutation, field), MUTATING)
            for field in ("foreach", "patchStrategicMerge", "patchesJson6902")
        },
    }
)
"""By the way to the body in a rule, in the order in which one that has several is taken."""


def operations_of(rule_type: RuleConverter, body: Json) -> tuple[str, ...]:
    """Return the operations that a rule applies to; patterns and loops see no deletions.

    Nor do expressions that read the object: without one they end in an error.
    """
    if rule_type.emit is cel and not reads_object(body):
        return WRITES
    # A loop over the new object finds no list on deletion: in texts with variables
    # `request.object` is then the deleted one, but lists are no such texts.
    if rule_type.emit is foreach_validation and all(
        "pattern" in loop or "anyPattern" in loop or "request.object" in (loop.get("list") or "")
        for loop in body
    ):
        return WITHOUT_DELETE
    return rule_type.operations


class RuleBody(NamedTuple):
    """The type of a rule, and its body with the way to it."""

    steps: tuple[str, ...]
    body: Json
    rule_type: RuleConverter


def body_of(rule: Mapping[str, Json]) -> RuleBody:
    """Return the body of a rule; raises NotConvertible where its type has no converter."""
    for steps, found in RULE_TYPES.items():
        body: Json = rule
        for step in steps:
            if not isinstance(body, dict):
                break
            body = body.get(step)
        else:
            if body is not None and (steps != _WHOLE or body.get("targets")):
                return RuleBody(steps, body, found)
    field = next((one.field for one in rule_types_of(read_rule(rule, ()))), ())
    if field == ("validate", "manifests"):
        what = "signatures of objects cannot be converted: CEL has no function to verify them"
        raise NotConvertible(what, "keep the rule in a ClusterPolicy of its own", field)
    what = f"`{'.'.join(field)}` is not supported yet"
    raise NotConvertible(what, "write the policy in CEL by hand", field)
