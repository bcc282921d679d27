"""Fields of a policy other than its rules: settings, failure actions, conditions and variables."""

import re
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

from kyvsim.kubernetes.discovery import plural
from kyvsim.kubernetes.objects import Json, KubernetesObject
from kyvsim.languages.classic.autogen import ComputedRules
from kyvsim.migrate.context import ConversionContext, NotConvertible, Scope, free_name
from kyvsim.migrate.expressions import FALSE, TRUE, All, Test, every, laid_out, opposite, some
from kyvsim.migrate.matching import Matching, namespaces_test
from kyvsim.migrate.values import Expr, field_of
from kyvsim.model.migration import ConversionCondition
from kyvsim.model.policy import FailureAction, Override, Policy, PolicyFacts, Rule
from kyvsim.model.source import Document
from kyvsim.policy.autogen import ANNOTATION
from kyvsim.policy.images import ImageVerification
from kyvsim.policy.rule import FailureOverride, RuleNode, Validate
from kyvsim.schema.kinds import CEL_GROUP, written_schema
from kyvsim.schema.node import SchemaNode

# The levels of a rule for Pods: Pods, their controllers, CronJobs.

CONTROLLERS: Final = "controllers"
CRON_JOBS: Final = "cronjobs"


def levels_of(place: int, computed: ComputedRules) -> dict[str, Rule]:
    """Return the written rule at an index as "", and the rules derived from it."""
    rule = computed.written[place]
    found = {"": rule}
    for one in computed.derived:
        if one.written is rule:
            found[CRON_JOBS if one.for_cron_jobs else CONTROLLERS] = one.rule
    return found


def named_conditions(name: str, test: Test) -> list[tuple[str, Test]]:
    """Return a test as conditions: one for each part of a conjunction."""
    if test == TRUE:
        return []
    parts = test.parts if isinstance(test, All) else (test,)
    return [(name, one) for one in parts]


def named_expressions(pairs: Iterable[tuple[str, str]]) -> list[dict[str, str]]:
    """Return names and expressions in the form of a policy."""
    return [{"name": name, "expression": text} for name, text in pairs]


def written_conditions(conditions: Sequence[tuple[str, Test | str]]) -> tuple[tuple[str, str], ...]:
    """Return conditions as texts; repeated names get a number."""
    found: dict[str, str] = {}
    for name, test in conditions:
        text = test if isinstance(test, str) else laid_out(test)
        found[free_name(name, found, "-")] = text
    return tuple(found.items())


class ActionVariant(NamedTuple):
    """A rule with a single action."""

    rule: RuleNode
    where: Test = TRUE
    """The requests for which it has the action."""
    name: str = ""
    """A suffix that distinguishes two variants, "" for a single one."""


def variants_of(rule: RuleNode, policy: FailureAction) -> list[ActionVariant]:
    """Return a rule for each action: the first matching override decides.

    `policy` is the action for all rules of its policy.
    """
    body = rule.validate
    if body is None:
        if rule.verify_images and policy.overrides:
            raise NotConvertible(
                "converting an action of an image rule for some namespaces only is not supported",
                "use one policy for each action, and match its namespaces",
            )
        return [ActionVariant(rule)]
    overrides: Sequence[FailureOverride | Override] = body.overrides or policy.overrides
    if not overrides:
        return [ActionVariant(rule)]
    enforced: Test = TRUE if _is_enforced(body.failure_action or policy.own) else FALSE
    for one in reversed(overrides):
        is_open = not one.namespaces and one.selector is None
        fits = TRUE if is_open else namespaces_test(one.namespaces or (), one.selector)
        if _is_enforced(one.action):
            enforced = some([fits, enforced])
        else:
            enforced = every([opposite(fits), enforced])
    found = []
    for name, where in (("Enforce", enforced), ("Audit", opposite(enforced))):
        if where != FALSE:
            changed = rule._replace(validate=body._replace(failure_action=name))
            found.append(ActionVariant(changed, where, name.lower()))
    return found if len(found) > 1 else [found[0]._replace(name="")]


def _is_enforced(action: str) -> bool:
    return action.lower() == "enforce"


API_VERSION: Final = f"{CEL_GROUP}/v1"
"""The apiVersion of converted policies."""

_EXISTING: Final = ConversionCondition(
    "existing violations", "non-compliant objects can no longer be updated until fixed"
)
_REPLICATION: Final = ConversionCondition(
    "ReplicationControllers", "none are used: CEL policies have no variant for them"
)
_ONE_RULE: Final = ConversionCondition(
    "applyRules: One", "rules must not depend on each other: all of them are evaluated"
)
_OWN: Final = frozenset({ANNOTATION, "kubectl.kubernetes.io/last-applied-configuration"})
"""Annotations that do not apply to the new policy."""
_DERIVABLE: Final = ("CronJob", "DaemonSet", "Deployment", "Job", "ReplicaSet", "StatefulSet")


def actions_of(
    body: Validate | ImageVerification, policy: PolicyFacts, scope: Scope
) -> dict[str, object]:
    """Return the action of the new policy for a failure of a rule without overrides."""
    if _is_enforced(body.failure_action or policy.action.own):
        if isinstance(body, Validate) and body.allow_existing_violations is not False:
            scope.context.note(_EXISTING)
        return {"validationActions": ["Deny"]}
    return {"validationActions": ["Audit", "Warn"] if policy.emits_warnings else ["Audit"]}


def settings_of(policy: Policy, kind: str, context: ConversionContext) -> dict[str, Json]:
    """Return the settings of a policy, as far as its kind has these fields."""
    facts = policy.facts
    if facts.applies_one_rule and len(policy.rules) > 1:
        context.note(_ONE_RULE)
    found: dict[str, object] = {}
    if not facts.fails_closed:
        found["failurePolicy"] = "Ignore"
    if facts.webhook_timeout:
        found["webhookConfiguration"] = {"timeoutSeconds": facts.webhook_timeout}
    switches = {"admission": facts.admission, "background": facts.background}
    switched_off = {
        name: {"enabled": False}
        for name, is_on in switches.items()
        if not is_on and _has(kind, "evaluation", name)
    }
    if switched_off:
        found["evaluation"] = switched_off
    return {name: value for name, value in found.items() if _has(kind, name)}


def _has(kind: str, *steps: str) -> bool:
    """Return whether the `spec` of a kind of CEL policy has a field."""
    node: SchemaNode | None = written_schema(f"{API_VERSION}/{kind}")
    for step in ("spec", *steps):
        node = node and node.child(step)
    return node is not None


def controllers_of(computed: ComputedRules, context: ConversionContext) -> list[str] | None:
    """Return the controllers for which a policy on Pods is derived; None for all of them."""
    controllers = computed.controllers
    if "ReplicationController" in controllers:
        context.note(_REPLICATION)
    known = [one for one in _DERIVABLE if one in controllers]
    if len(known) == len(_DERIVABLE):
        return None
    return [plural("batch" if one.endswith("Job") else "apps", one) for one in known]


def policy_object(kind: str, name: str, source: Document, spec: object) -> KubernetesObject:
    """Return a new policy, with the metadata of the old one that have the same meaning."""
    metadata = source.data["metadata"]
    annotations = {
        key: value for key, value in (metadata.get("annotations") or {}).items() if key not in _OWN
    }
    kept = {**metadata, "annotations": annotations}
    fields = ("namespace", "labels", "annotations")
    own = {"name": name, **{one: kept[one] for one in fields if kept.get(one)}}
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": own, "spec": spec}


# The object of a rule: the new one, or the deleted one, and its fields that can be missing.

_DELETED: Final = "request.operation == 'DELETE'"
_ROLES: Final = frozenset({"Role", "ClusterRole"})


def subject_of(matching: Matching, context: ConversionContext, *, derived: bool) -> Expr:
    """Return the object that a rule evaluates; if `derived`, it may contain a Pod template.

    Variables that it needs are added to the context, even if they are unused.
    """
    whole = Expr("object", matching.types, rewritten=True)
    if derived:
        # The fields of a Pod or of a template; an API server always sends metadata.
        fields = {}
        for key in ("spec", "metadata"):
            text = f"object.{key}"
            if matching.deletes:
                text = f"{_DELETED} ? oldObject.{key} : object.{key}"
                text = context.optional_variable(key, text)
            fields[key] = Expr(text, field_of(matching.types, key), noun=key)
        return whole._replace(fields=MappingProxyType(fields))
    if matching.deletes:
        target = context.optional_variable("target", f"{_DELETED} ? oldObject : object")
        whole = Expr(target, matching.types)
        fields = {
            key: Expr(f"{target}.{key}", field_of(whole.types, key), noun=key)
            for key in (("spec", "metadata") if whole.types else ("metadata",))
        }
        whole = whole._replace(fields=MappingProxyType(fields))
    if set(matching.kinds) <= _ROLES:
        text = f"{whole.text}.?rules.orValue(null) == null ? [] : {whole.text}.rules"
        named = whole.child("rules")
        rules = named._replace(soft=context.optional_variable("rules", text))
        return whole._replace(fields=MappingProxyType({**whole.fields, "rules": rules}))
    return whole


def without_unread(context: ConversionContext, texts: list[str]) -> dict[str, str]:
    """Return variables without unused optional ones."""
    kept: dict[str, str] = {}
    for name, text in reversed(context.variables.items()):
        read = re.compile(rf"variables\.{re.escape(name)}(?!\w)").search
        if name not in context.optional_names or any(map(read, (*texts, *kept.values()))):
            kept[name] = text
    return dict(reversed(kept.items()))


def inlined(text: str, variables: Mapping[str, str]) -> str:
    """Return an expression with variables replaced by their expressions."""
    for name, held in reversed(tuple(variables.items())):
        text = re.sub(rf"\bvariables\.{name}\b", lambda _, held=held: f"({held})", text)  # type: ignore[misc]
    return text
