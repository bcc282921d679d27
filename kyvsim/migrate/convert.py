"""Policies with rules → policies in CEL with the same results."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeAlias

from kyvsim.kubernetes.objects import Json
from kyvsim.languages.classic.autogen import ComputedRules, compute_rules
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
    AT_REST,
    WRITES,
    Matching,
    Operations,
    matching_of,
    read_matching,
    without_operations,
)
from kyvsim.migrate.patterns import guarded
from kyvsim.migrate.rules import (
    DERIVED,
    GENERATING,
    IMAGES,
    MUTATING,
    VALIDATING,
    body_of,
    operations_of,
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


def _convert_cleanup(policy: Policy) -> Conversion:
    context = ConversionContext({}, [], set(), _SPEC)
    data = policy.document.data
    spec = data["spec"]
    try:
        found = read_matching(spec, [], AT_REST, context)
        target = Expr("object", found.types)
        names = {"target": target}
        scope = Scope(context, target, target, names, namespace=policy.namespace, at_rest=True)
        scope = within(("context",), with_entries, spec.get("context"), scope)
        holds = within(("conditions",), conditions_test, spec.get("conditions") or {}, scope)
    except NotConvertible as refusal:
        refused = refused_outcome(policy.document, policy.name, refusal.below(*_SPEC))
        return Conversion(policy, (refused,), ())
    conditions = written_conditions([*found.conditions, *named_conditions("condition", holds)])
    variables = without_unread(context, [text for _, text in conditions])
    fields = {
        "deletionPropagationPolicy": spec.get("deletionPropagationPolicy"),
        "matchConstraints": found.constraints,
        "variables": named_expressions(variables.items()),
        "conditions": named_expressions(conditions),
    }
    made = {
        "apiVersion": API_VERSION,
        "kind": f"Namespaced{DELETING}" if policy.namespace else DELETING,
        "metadata": metadata_of(data["metadata"], policy.name),
        "spec": {
            "schedule": spec["schedule"],
            **{name: value for name, value in fields.items() if value},
        },
    }
    outcome = converted_outcome(policy.document, policy.name, context)
    return Conversion(policy, (outcome,), (Made(made, (0,), (0,)),))


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


def _policies_of(
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
    has_several = len({one.place for one, *_ in groups}) > 1
    for group in groups:
        first, old = group[0], whole.data["metadata"]["name"]
        start = f"{old}-{first.rule}" if has_several else old
        full = "-".join(filter(None, (start, first.level, first.variant)))
        name = object_name(full)
        made = _policy(name, group, whole, written)
        yield made if name == full else made._replace(wanted=full)


def _fits(part: ConvertedRule, group: list[ConvertedRule]) -> bool:
    known = {name: text for one in group for name, text in one.variables.items()}
    return part.group == group[0].group and all(
        known.get(name, text) == text for name, text in part.variables.items()
    )


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
        return {"expression": one.texts[0]}
    value = written(one.template)
    mode = {"interpolate": "cel"} if one.texts or "\\((" in value else {}
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
        return _convert_cleanup(policy)
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
    return Conversion(policy, tuple(verdicts), tuple(_policies_of(parts, whole, written)))


def _levels(place: int, rule: Json, whole: SourcePolicy) -> list[tuple[str | None, ActionVariant]]:
    """Return a rule as it is written and as it is derived, where each needs a policy of its own.

    A ValidatingPolicy on Pods is derived for controllers; of a MutatingPolicy only some parts are.
    One with several actions needs a policy for each.
    """
    if "mutate" not in rule:
        return [(None, one) for one in variants_of(rule, whole.data["spec"])]
    derived = derived_levels(place, whole.computed)
    rules = [("", rule), *((level, dict(one.rule.data)) for level, one in derived)]
    return [(level, ActionVariant(one)) for level, one in rules]


# ---------------------------------------------------------------------------- one rule


def _converted(
    place: int, variant: ActionVariant, whole: SourcePolicy, context: ConversionContext
) -> ConvertedRule:
    spec, rule = whole.data["spec"], variant.rule
    found = body_of(rule)
    rule_type = found.rule_type
    preconditions, allowed = without_operations(rule.get("preconditions"))
    usual = operations_of(rule_type, found.body)
    operations = Operations(usual, allowed, takes_all=rule_type.kind == GENERATING)
    matching = matching_of(rule, operations, context)
    if matching.deletes and _finds_nothing_deleted(rule.get("context")):
        kept = operations._replace(allowed=allowed - {"DELETE"})
        matching = matching_of(rule, kept, context)
        context.note(_DELETIONS)
    scope = _scope(rule, matching, whole, context)
    applies = within(("preconditions",), fallible_conditions, preconditions, scope)
    if applies.fails and set(matching.operations) < set(WRITES):
        context.note(_OTHER_OPERATIONS)
    derived = whole.computed.controllers if matching.kinds == _PODS else frozenset[str]()
    given = ConversionInput(rule, found.body, scope, matching, derived)
    entries = tuple(within(found.steps, rule_type.emit, given))
    if any(isinstance(one, ValidationEntry) and one.test == TRUE for one in entries):
        context.at(*found.steps).note(_NEVER_FAILS)
    folded = "variables." in one_line(applies.test) and rule_type.kind == VALIDATING
    if folded:
        entries = _guarded(entries, applies)
    mutations = tuple(one for one in entries if isinstance(one, MutationEntry))
    guards = every(guard for one in mutations for guard in one.guards)
    texts = written_conditions(
        [
            *webhook_conditions(spec, context),
            *matching.conditions,
            *named_conditions("namespaces", variant.where),
            *named_conditions("precondition", TRUE if folded else applies.test),
            *named_conditions("precondition", guards),
            *((one["name"], one["expression"]) for one in rule.get("celPreconditions") or ()),
        ]
    )
    if matching.kinds == _PODS and rule_type.kind in DERIVED:
        controllers_of(whole.computed, context)
    settings_of(spec, rule_type.kind, context)
    if rule_type.kind == GENERATING:
        texts = tuple((name, inlined(text, context.variables)) for name, text in texts)
    fields = dict(rule_type.fields(rule, spec, scope))
    for one in mutations:
        fields |= one.fields
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


def _guarded(entries: Sequence[PolicyEntry], applies: FallibleTest) -> tuple[PolicyEntry, ...]:
    """Return the entries of a rule, with validations that hold where it does not apply."""

    def whole(test: Test) -> Test:
        # `||` would let an error pass where the other side is true.
        return chosen(applies.test, test, TRUE) if applies.fails else guarded(applies.test, test)

    return tuple(
        one._replace(test=whole(one.test)) if isinstance(one, ValidationEntry) else one
        for one in entries
    )


def _scope(
    rule: Json, matching: Matching, whole: SourcePolicy, context: ConversionContext
) -> Scope:
    derived = matching.kinds == _PODS and bool(whole.computed.derived) and "mutate" not in rule
    found = subject_of(matching, context, derived=derived)
    old = Expr("oldObject", matching.types, rewritten=True)
    scope = Scope(context, found, old, namespace=whole.namespace, patching="mutate" in rule)
    return within(("context",), with_entries, rule.get("context"), scope)
