"""Policies with rules → policies in CEL that mean the same."""

import re
from collections.abc import Sequence
from typing import Final

from kyvsim.kubernetes.objects import Json
from kyvsim.languages.classic.autogen import compute_rules
from kyvsim.languages.classic.rules import rule_types_of
from kyvsim.migrate.assembly import Whole, Written, policies_of
from kyvsim.migrate.cleanup import CLEANUP_KINDS, convert_cleanup
from kyvsim.migrate.conditions import Asked, conditions_asked
from kyvsim.migrate.desk import Desk
from kyvsim.migrate.entries import with_entries
from kyvsim.migrate.exceptions import excepted
from kyvsim.migrate.expressions import TRUE, Test, chosen, every, one_line
from kyvsim.migrate.levels import RULES, derived_levels
from kyvsim.migrate.matching import WRITES, Matching, Operations, matching_of, without_operations
from kyvsim.migrate.named_conditions import named_conditions, written_conditions
from kyvsim.migrate.part import Part
from kyvsim.migrate.patterns import guarded
from kyvsim.migrate.queries import Scope
from kyvsim.migrate.queries.read import read
from kyvsim.migrate.refusal import NotConvertible, refused, told, within
from kyvsim.migrate.rules import (
    DERIVED,
    GENERATING,
    VALIDATING,
    Entry,
    Found,
    Given,
    Mutation,
    Validation,
    operations_of,
    rule_type_of,
)
from kyvsim.migrate.settings import Variant, asked_before, controllers_of, settings_of, variants_of
from kyvsim.migrate.subject import inlined, subject_of, without_unread
from kyvsim.migrate.values import Value
from kyvsim.model.migration import Condition, Conversion, RuleOutcome
from kyvsim.model.policy import Policy, PolicyException
from kyvsim.model.ports import fault_text

_PODS: Final = ("Pod",)
_MANIFESTS: Final = ("validate", "manifests")
_NOTHING_ASKED: Final = Asked(TRUE, fails=False)
_OTHER_OPERATIONS: Final = Condition(
    "requests of other operations",
    "they pass: preconditions that end in an error, since something is missing, refuse them, too",
)
_DELETIONS: Final = Condition(
    "deletions", "they are not asked: context entries that read `request.object` find nothing there"
)
_BRACES: Final = re.compile(r"\{\{.*?\}\}")
_NEVER_FAILS: Final = Condition(
    "never fails",
    "the rule lets everything pass, as the new policy does: `(x)` says what it is about, and `=(x)`"
    " what has to hold",
)


def convert(
    policy: Policy, written: Written, exceptions: Sequence[PolicyException] = ()
) -> Conversion:
    """Return what becomes of a policy with rules, one by one, or of a cleanup policy.

    `written` gives an object as YAML, for templates. Rules that some of the exceptions name stand
    in policies of their own.
    """
    if policy.kind in CLEANUP_KINDS:
        return convert_cleanup(policy)
    data = policy.document.data
    computed = compute_rules(policy)
    whole = Whole(data, computed)
    parts: list[Part] = []
    verdicts: list[RuleOutcome] = []
    for index, rule in enumerate(data["spec"].get("rules") or ()):
        desk = Desk({}, [], set(), (*RULES, index))
        found: list[Part] = []
        try:
            named = excepted(index, computed, policy.key, exceptions)
            for level, one in _levels(index, rule, whole):
                part = _converted(index, one, whole, desk._replace(variables={}))
                found.append(part._replace(rule=rule["name"], level=level, excepted=named))
        except NotConvertible as refusal:
            verdicts.append(refused(policy.document, rule["name"], refusal.below(*RULES, index)))
            continue
        except Exception as error:  # noqa: BLE001 — INVARIANT: a rule's fault is that rule's refusal
            fault = NotConvertible(fault_text(error), "convert this rule by hand", (*RULES, index))
            verdicts.append(refused(policy.document, rule["name"], fault))
            continue
        parts += found
        verdicts.append(told(policy.document, rule["name"], desk))
    return Conversion(policy, tuple(verdicts), tuple(policies_of(parts, whole, written)))


def _levels(place: int, rule: Json, whole: Whole) -> list[tuple[str | None, Variant]]:
    """Return a rule as it is written and as it is derived, where each needs a policy of its own.

    A ValidatingPolicy on Pods is derived for controllers; of a MutatingPolicy only some parts are.
    One with several actions needs a policy for each.
    """
    if "mutate" not in rule:
        return [(None, one) for one in variants_of(rule, whole.data["spec"])]
    derived = derived_levels(place, whole.computed)
    return [("", Variant(rule)), *((level, Variant(dict(one.rule.data))) for level, one in derived)]


# ---------------------------------------------------------------------------- one rule


def _converted(place: int, variant: Variant, whole: Whole, desk: Desk) -> Part:
    spec, computed, rule = whole.data["spec"], whole.computed, variant.rule
    found = _rule_type(rule)
    preconditions, allowed = without_operations(rule.get("preconditions"))
    rule_type = found.rule_type
    usual = operations_of(rule_type, found.body)
    operations = Operations(usual, allowed, takes_all=rule_type.kind == GENERATING)
    matching = matching_of(rule, operations, desk)
    if matching.deletes and _finds_nothing_deleted(rule.get("context")):
        kept = operations._replace(allowed=allowed - {"DELETE"})
        matching = matching_of(rule, kept, desk)
        desk.note(_DELETIONS)
    scope = _scope(rule, matching, whole, desk)
    asked = _preconditions(preconditions, scope, matching)
    folded = "variables." in one_line(asked.test) and rule_type.kind == VALIDATING
    derived = computed.controllers if matching.kinds == _PODS else frozenset[str]()
    given = Given(rule=rule, body=found.body, scope=scope, matching=matching, controllers=derived)
    emitted = _emitted(found, given)
    entries = _guarded(emitted, asked) if folded else emitted
    mutations = tuple(one for one in entries if isinstance(one, Mutation))
    conditions: list[tuple[str, Test | str]] = [*asked_before(spec, desk)]
    conditions += [*matching.conditions, *named_conditions("namespaces", variant.where)]
    conditions += named_conditions("precondition", TRUE if folded else asked.test)
    guards = every(guard for one in mutations for guard in one.guards)
    conditions += named_conditions("precondition", guards)
    conditions += [(one["name"], one["expression"]) for one in rule.get("celPreconditions") or ()]
    if matching.kinds == _PODS and rule_type.kind in DERIVED:
        controllers_of(computed, desk)
    settings_of(spec, rule_type.kind, desk)
    texts = written_conditions(conditions)
    if rule_type.kind == GENERATING:
        texts = tuple((name, inlined(text, desk.variables)) for name, text in texts)
    fields = {**rule_type.fields(rule, spec, scope), **_said_by(mutations)}
    read_by = [*(text for one in entries for text in one.texts), *dict(texts).values(), str(fields)]
    return Part(
        place=place,
        rule=rule["name"],
        level=None,
        variant=variant.name,
        kind=rule_type.kind,
        matching=matching,
        fields=fields,
        conditions=texts,
        variables=without_unread(desk, read_by),
        entries=entries,
    )


def _finds_nothing_deleted(entries: Json) -> bool:
    """Return whether queries of context entries read the object, which is null at a deletion.

    Only variables in braces read the old object then.
    upstream: pkg/engine/variables (substituteVariablesIfAny), which context loaders do not call
    """
    queries = ((one.get("variable") or {}).get("jmesPath") or "" for one in entries or ())
    return any("request.object" in _BRACES.sub("", str(one)) for one in queries)


def _emitted(found: Found, given: Given) -> tuple[Entry, ...]:
    """Return the entries of a rule."""
    entries = tuple(within(found.steps, found.rule_type.emit, given))
    if any(isinstance(one, Validation) and one.test == TRUE for one in entries):
        given.scope.desk.at(*found.steps).note(_NEVER_FAILS)
    return entries


def _guarded(entries: Sequence[Entry], asked: Asked) -> tuple[Entry, ...]:
    """Return the entries of a rule, with validations that hold where it does not apply."""

    def whole(test: Test) -> Test:
        # `||` would let an error pass where the other side is true.
        return chosen(asked.test, test, TRUE) if asked.fails else guarded(asked.test, test)

    return tuple(
        one._replace(test=whole(one.test)) if isinstance(one, Validation) else one
        for one in entries
    )


def _said_by(mutations: Sequence[Mutation]) -> dict[str, Json]:
    """Return what a policy says on account of its mutations."""
    return {name: value for one in mutations for name, value in one.fields.items()}


def _rule_type(rule: Json) -> Found:
    found = rule_type_of(rule)
    if found is None:
        raise _no_emitter(rule)
    return found


def _no_emitter(rule: Json) -> NotConvertible:
    field = next((one.field for one in rule_types_of(rule)), ())
    if field == _MANIFESTS:
        return NotConvertible(
            "signatures of objects have no twin: nothing in CEL checks them",
            "keep the rule in a ClusterPolicy of its own",
            field,
        )
    return NotConvertible(
        f"`{'.'.join(field)}` is not converted yet", "write the policy in CEL by hand", field
    )


def _scope(rule: Json, matching: Matching, whole: Whole, desk: Desk) -> Scope:
    derived = matching.kinds == _PODS and bool(whole.computed.derived) and "mutate" not in rule
    found = subject_of(matching, desk, derived=derived)
    old = Value("oldObject", matching.types, rewritten=True)
    scope = Scope(desk, found, old, read, namespace=whole.namespace, patching="mutate" in rule)
    return within(("context",), with_entries, rule.get("context"), scope)


def _preconditions(block: Json, scope: Scope, matching: Matching) -> Asked:
    if not block:
        return _NOTHING_ASKED
    asked = within(("preconditions",), conditions_asked, block, scope)
    if asked.fails and set(matching.operations) < set(WRITES):
        scope.desk.note(_OTHER_OPERATIONS)
    return asked
