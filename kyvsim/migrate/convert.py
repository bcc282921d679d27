"""Policies with rules → policies in CEL with the same results."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeAlias

from kyvsim.kubernetes.objects import Json
from kyvsim.languages.classic.autogen import ComputedRules, compute_rules
from kyvsim.languages.classic.rules import rule_types_of
from kyvsim.migrate.conditions import FallibleTest, conditions_test, fallible_conditions
from kyvsim.migrate.context import (
    ConversionContext,
    NotConvertible,
    Scope,
    converted_outcome,
    refused_outcome,
    within,
)
from kyvsim.migrate.context_entries import with_entries
from kyvsim.migrate.exceptions import Excepted, excepted
from kyvsim.migrate.expressions import TRUE, Test, chosen, every, laid_out, one_line
from kyvsim.migrate.matching import (
    WRITES,
    Matching,
    Operations,
    matching_at_rest,
    matching_of,
    without_operations,
)
from kyvsim.migrate.patterns import guarded
from kyvsim.migrate.rules import (
    DERIVED,
    GENERATING,
    IMAGES,
    MUTATING,
    VALIDATING,
    RuleBody,
    operations_of,
    rule_type_of,
)
from kyvsim.migrate.rules.results import (
    ConversionInput,
    GenerationEntry,
    MutationEntry,
    PolicyEntry,
    ValidationEntry,
)
from kyvsim.migrate.settings import (
    API_VERSION,
    RULES,
    ActionVariant,
    controllers_of,
    derived_levels,
    inlined,
    metadata_of,
    named_conditions,
    named_expressions,
    settings_of,
    subject_of,
    variants_of,
    webhook_conditions,
    without_unread,
    written_conditions,
)
from kyvsim.migrate.values import Expr
from kyvsim.model.migration import Conversion, ConversionCondition, Made, RuleOutcome
from kyvsim.model.policy import Policy, PolicyException
from kyvsim.model.ports import fault_text

# CleanupPolicy and ClusterCleanupPolicy → policies that delete.

CLEANUP_KINDS: Final = frozenset({"CleanupPolicy", "ClusterCleanupPolicy"})
DELETING: Final = "DeletingPolicy"
_SPEC: Final = ("spec",)


def convert_cleanup(policy: Policy) -> Conversion:
    """Return what becomes of a cleanup policy."""
    context = ConversionContext({}, [], set(), _SPEC)
    try:
        made = Made(_deleting(policy, context), (0,), (0,))
    except NotConvertible as refusal:
        return Conversion(
            policy, (refused_outcome(policy.document, policy.name, refusal.below(*_SPEC)),), ()
        )
    return Conversion(policy, (converted_outcome(policy.document, policy.name, context),), (made,))


def _deleting(policy: Policy, context: ConversionContext) -> dict[str, Json]:
    data = policy.document.data
    spec = data["spec"]
    matching = matching_at_rest(spec, context)
    target = Expr("object", matching.types)
    scope = Scope(
        context, target, target, {"target": target}, namespace=policy.namespace, at_rest=True
    )
    scope = within(("context",), with_entries, spec.get("context"), scope)
    holds: Test = TRUE
    if spec.get("conditions"):
        holds = within(("conditions",), conditions_test, spec["conditions"], scope)
    conditions = written_conditions([*matching.conditions, *named_conditions("condition", holds)])
    found: dict[str, Json] = {"schedule": spec["schedule"]}
    if spec.get("deletionPropagationPolicy"):
        found["deletionPropagationPolicy"] = spec["deletionPropagationPolicy"]
    found["matchConstraints"] = matching.constraints
    variables = without_unread(context, [text for _, text in conditions])
    if variables:
        found["variables"] = named_expressions(variables.items())
    if conditions:
        found["conditions"] = named_expressions(conditions)
    return {
        "apiVersion": API_VERSION,
        "kind": f"Namespaced{DELETING}" if policy.namespace else DELETING,
        "metadata": metadata_of(data["metadata"], policy.name),
        "spec": found,
    }


# Names of the objects that others become.

_LONGEST: Final = 63
"""What Kyverno takes for names of policies: it writes them into labels."""
_WRONG: Final = re.compile(r"[^a-z0-9.-]+|\.(?=[.-])|(?<=[.-])\.")
_DIGITS: Final = 6


def object_name(wanted: str) -> str:
    """Return a valid name for an object: the wanted one, or a similar one.

    A hash keeps shortened or changed names distinct.
    """
    fitting = _WRONG.sub("-", wanted.lower()).strip("-.")
    if fitting == wanted and len(wanted) <= _LONGEST:
        return wanted
    mark = sha256(wanted.encode()).hexdigest()[:_DIGITS]
    return f"{fitting[: _LONGEST - _DIGITS - 1].rstrip('-.')}-{mark}".lstrip("-")


# One rule, converted: what policies in CEL are put together of.


class ConvertedRule(NamedTuple):
    """One rule, converted."""

    place: int
    rule: str
    """The name of the rule as it is written."""
    level: str | None
    """Which controllers it was derived for, "" for Pods; None for all of them."""
    kind: str
    """The kind of the policy that it becomes a part of."""
    matching: Matching
    fields: Mapping[str, Json]
    """Other fields of the policy that the rule requires."""
    conditions: tuple[tuple[str, str], ...]
    variables: Mapping[str, str]
    entries: tuple[PolicyEntry, ...]
    excepted: Excepted = ()
    variant: str = ""
    """The failure action, if the rule has several."""

    @property
    def group(self) -> tuple[object, ...]:
        """What rules of one policy have in common."""
        matching, fields = str(self.matching.constraints), str(self.fields)
        return (self.kind, matching, fields, self.conditions, self.excepted, self.variant)


# Converted rules → whole policies.

Written: TypeAlias = Callable[[Mapping[str, Json]], str]
"""Gives an object as YAML."""


class SourcePolicy(NamedTuple):
    """The policy that is converted."""

    data: Json
    computed: ComputedRules

    @property
    def namespace(self) -> str:
        """Its namespace, "" for a cluster-scoped policy."""
        is_namespaced = self.data["kind"] == "Policy"
        return str(self.data["metadata"].get("namespace") or "default") if is_namespaced else ""


def policies_of(
    parts: list[ConvertedRule], whole: SourcePolicy, written: Written
) -> Iterable[Made]:
    """Yield the policies that converted rules of one become: rules that match alike share one."""
    groups: list[list[ConvertedRule]] = []
    for part in parts:
        home = next((one for one in groups if _fits(part, one)), None)
        if home is None:
            groups.append([part])
        else:
            home.append(part)
    for group in groups:
        wanted = _name(group[0], groups, whole.data["metadata"]["name"])
        name = object_name(wanted)
        made = _policy(name, group, whole, written)
        yield made if name == wanted else made._replace(wanted=wanted)


def _name(part: ConvertedRule, groups: list[list[ConvertedRule]], name: str) -> str:
    """Return the name of a policy: the old name, with suffixes if there are several."""
    if len({one.place for one, *_ in groups}) > 1:
        name = f"{name}-{part.rule}"
    return "-".join(filter(None, (name, part.level, part.variant)))


def _fits(part: ConvertedRule, group: list[ConvertedRule]) -> bool:
    if part.group != group[0].group:
        return False
    known = {name: text for one in group for name, text in one.variables.items()}
    return all(known.get(name, text) == text for name, text in part.variables.items())


def _policy(name: str, group: list[ConvertedRule], whole: SourcePolicy, written: Written) -> Made:
    first, data = group[0], whole.data
    context = ConversionContext({}, [], set())
    found = dict(first.fields)
    settings = settings_of(data["spec"], first.kind, context)
    if "evaluation" in found and "evaluation" in settings:
        settings["evaluation"] |= found["evaluation"]
    found |= settings
    if first.matching.kinds == _PODS and first.kind != GENERATING:
        controllers = [] if first.kind == MUTATING else controllers_of(whole.computed, context)
        if controllers is not None:
            found["autogen"] = {"podControllers": {"controllers": controllers}}
    found["matchConstraints"] = first.matching.constraints
    if first.conditions:
        found["matchConditions"] = named_expressions(first.conditions)
    variables = {name: text for one in group for name, text in one.variables.items()}
    if variables:
        found["variables"] = named_expressions(variables.items())
    field, entry = _ENTRIES[first.kind]
    found[field] = [entry(one, written) for part in group for one in part.entries]
    made = {
        "apiVersion": API_VERSION,
        "kind": f"Namespaced{first.kind}" if whole.namespace else first.kind,
        "metadata": metadata_of(data["metadata"], name),
        "spec": found,
    }
    places = tuple(part.place for part in group for _ in part.entries)
    return Made(made, tuple(part.place for part in group), places, first.level)


def _validation(one: ValidationEntry, _: Written) -> dict[str, Json]:
    found = {"expression": laid_out(one.test)}
    if one.message.expression:
        found["messageExpression"] = one.message.expression
    elif one.message.text:
        found["message"] = one.message.text
    return found


def _mutation(one: MutationEntry, _: Written) -> dict[str, Json]:
    field = "applyConfiguration" if one.form == "ApplyConfiguration" else "jsonPatch"
    return {"patchType": one.form, field: {"expression": one.text}}


def _generation(one: GenerationEntry, written: Written) -> dict[str, Json]:
    if one.template is None:
        return {"expression": one.text}
    value = written(one.template.data)
    mode = {"interpolate": "cel"} if one.template.expressions or "\\((" in value else {}
    return {"template": {**mode, "value": value}}


_ENTRIES: Final[Mapping[str, tuple[str, Callable[[Any, Written], Json]]]] = MappingProxyType(
    {
        VALIDATING: ("validations", _validation),
        MUTATING: ("mutations", _mutation),
        GENERATING: ("generate", _generation),
        IMAGES: ("validations", _validation),
    }
)
"""By kind of policy the field of its entries, and how an entry is written."""

# Policies with rules → policies in CEL that mean the same.

_PODS: Final = ("Pod",)
_NO_PRECONDITIONS: Final = FallibleTest(TRUE, fails=False)
_OTHER_OPERATIONS: Final = ConversionCondition(
    "requests of other operations",
    "they pass: preconditions that end in an error because a field is missing also deny them",
)
_DELETIONS: Final = ConversionCondition(
    "deletions",
    "they are not evaluated: context entries that read `request.object` find nothing there",
)
_BRACES: Final = re.compile(r"\{\{.*?\}\}")
_NEVER_FAILS: Final = ConversionCondition(
    "never fails",
    "the rule allows everything, and so does the new policy: `(x)` only selects resources, "
    "`=(x)` checks a field",
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
    whole = SourcePolicy(data, computed)
    parts: list[ConvertedRule] = []
    verdicts: list[RuleOutcome] = []
    for index, rule in enumerate(data["spec"].get("rules") or ()):
        context = ConversionContext({}, [], set(), (*RULES, index))
        found: list[ConvertedRule] = []
        try:
            named = excepted(index, computed, policy.key, exceptions)
            for level, one in _levels(index, rule, whole):
                part = _converted(index, one, whole, context._replace(variables={}))
                found.append(part._replace(rule=rule["name"], level=level, excepted=named))
        except NotConvertible as refusal:
            verdicts.append(
                refused_outcome(policy.document, rule["name"], refusal.below(*RULES, index))
            )
            continue
        except Exception as error:  # noqa: BLE001 — INVARIANT: a rule's failure is that rule's refusal
            fault = NotConvertible(fault_text(error), "convert this rule by hand", (*RULES, index))
            verdicts.append(refused_outcome(policy.document, rule["name"], fault))
            continue
        parts += found
        verdicts.append(converted_outcome(policy.document, rule["name"], context))
    return Conversion(policy, tuple(verdicts), tuple(policies_of(parts, whole, written)))


def _levels(place: int, rule: Json, whole: SourcePolicy) -> list[tuple[str | None, ActionVariant]]:
    """Return a rule as it is written and as it is derived, where each needs a policy of its own.

    A ValidatingPolicy on Pods is derived for controllers; of a MutatingPolicy only some parts are.
    One with several actions needs a policy for each.
    """
    if "mutate" not in rule:
        return [(None, one) for one in variants_of(rule, whole.data["spec"])]
    derived = derived_levels(place, whole.computed)
    return [
        ("", ActionVariant(rule)),
        *((level, ActionVariant(dict(one.rule.data))) for level, one in derived),
    ]


# ---------------------------------------------------------------------------- one rule


def _converted(
    place: int, variant: ActionVariant, whole: SourcePolicy, context: ConversionContext
) -> ConvertedRule:
    spec, computed, rule = whole.data["spec"], whole.computed, variant.rule
    found = _rule_body(rule)
    preconditions, allowed = without_operations(rule.get("preconditions"))
    rule_type = found.rule_type
    usual = operations_of(rule_type, found.body)
    operations = Operations(usual, allowed, takes_all=rule_type.kind == GENERATING)
    matching = matching_of(rule, operations, context)
    if matching.deletes and _finds_nothing_deleted(rule.get("context")):
        kept = operations._replace(allowed=allowed - {"DELETE"})
        matching = matching_of(rule, kept, context)
        context.note(_DELETIONS)
    scope = _scope(rule, matching, whole, context)
    applies = _preconditions(preconditions, scope, matching)
    folded = "variables." in one_line(applies.test) and rule_type.kind == VALIDATING
    derived = computed.controllers if matching.kinds == _PODS else frozenset[str]()
    given = ConversionInput(
        rule=rule, body=found.body, scope=scope, matching=matching, controllers=derived
    )
    emitted = _emitted(found, given)
    entries = _guarded(emitted, applies) if folded else emitted
    mutations = tuple(one for one in entries if isinstance(one, MutationEntry))
    conditions: list[tuple[str, Test | str]] = [*webhook_conditions(spec, context)]
    conditions += [*matching.conditions, *named_conditions("namespaces", variant.where)]
    conditions += named_conditions("precondition", TRUE if folded else applies.test)
    guards = every(guard for one in mutations for guard in one.guards)
    conditions += named_conditions("precondition", guards)
    conditions += [(one["name"], one["expression"]) for one in rule.get("celPreconditions") or ()]
    if matching.kinds == _PODS and rule_type.kind in DERIVED:
        controllers_of(computed, context)
    settings_of(spec, rule_type.kind, context)
    texts = written_conditions(conditions)
    if rule_type.kind == GENERATING:
        texts = tuple((name, inlined(text, context.variables)) for name, text in texts)
    fields = {
        **rule_type.fields(rule, spec, scope),
        **{name: value for one in mutations for name, value in one.fields.items()},
    }
    read_by = [*(text for one in entries for text in one.texts), *dict(texts).values(), str(fields)]
    return ConvertedRule(
        place=place,
        rule=rule["name"],
        level=None,
        variant=variant.name,
        kind=rule_type.kind,
        matching=matching,
        fields=fields,
        conditions=texts,
        variables=without_unread(context, read_by),
        entries=entries,
    )


def _finds_nothing_deleted(entries: Json) -> bool:
    """Return whether queries of context entries read the object, which is null at a deletion.

    Only variables in braces read the old object then.
    upstream: pkg/engine/variables (substituteVariablesIfAny), which context loaders do not call
    """
    queries = ((one.get("variable") or {}).get("jmesPath") or "" for one in entries or ())
    return any("request.object" in _BRACES.sub("", str(one)) for one in queries)


def _emitted(found: RuleBody, given: ConversionInput) -> tuple[PolicyEntry, ...]:
    """Return the entries of a rule."""
    entries = tuple(within(found.steps, found.rule_type.emit, given))
    if any(isinstance(one, ValidationEntry) and one.test == TRUE for one in entries):
        given.scope.context.at(*found.steps).note(_NEVER_FAILS)
    return entries


def _guarded(entries: Sequence[PolicyEntry], applies: FallibleTest) -> tuple[PolicyEntry, ...]:
    """Return the entries of a rule, with validations that hold where it does not apply."""

    def whole(test: Test) -> Test:
        # `||` would let an error pass where the other side is true.
        return chosen(applies.test, test, TRUE) if applies.fails else guarded(applies.test, test)

    return tuple(
        one._replace(test=whole(one.test)) if isinstance(one, ValidationEntry) else one
        for one in entries
    )


def _rule_body(rule: Json) -> RuleBody:
    found = rule_type_of(rule)
    if found is not None:
        return found
    field = next((one.field for one in rule_types_of(rule)), ())
    what = f"`{'.'.join(field)}` is not supported yet"
    advice = "write the policy in CEL by hand"
    if field == ("validate", "manifests"):
        what = "signatures of objects cannot be converted: CEL has no function to verify them"
        advice = "keep the rule in a ClusterPolicy of its own"
    raise NotConvertible(what, advice, field)


def _scope(
    rule: Json, matching: Matching, whole: SourcePolicy, context: ConversionContext
) -> Scope:
    derived = matching.kinds == _PODS and bool(whole.computed.derived) and "mutate" not in rule
    found = subject_of(matching, context, derived=derived)
    old = Expr("oldObject", matching.types, rewritten=True)
    scope = Scope(context, found, old, namespace=whole.namespace, patching="mutate" in rule)
    return within(("context",), with_entries, rule.get("context"), scope)


def _preconditions(block: Json, scope: Scope, matching: Matching) -> FallibleTest:
    if not block:
        return _NO_PRECONDITIONS
    applies = within(("preconditions",), fallible_conditions, block, scope)
    if applies.fails and set(matching.operations) < set(WRITES):
        scope.context.note(_OTHER_OPERATIONS)
    return applies
