"""Convert classic policies to CEL policies with the same results."""

import re
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from types import MappingProxyType
from typing import Final, NamedTuple

from kyvsim.languages.classic.autogen import ComputedRules, compute_rules
from kyvsim.migrate.conditions import FallibleTest, conditions_test
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
from kyvsim.migrate.expressions import TRUE, chosen, every, one_line
from kyvsim.migrate.matching import (
    AT_REST,
    WRITES,
    Matching,
    read_matching,
    rule_matching,
    without_operations,
)
from kyvsim.migrate.patterns import guarded
from kyvsim.migrate.rules import DERIVED, GENERATING, MUTATING, VALIDATING, converter_of
from kyvsim.migrate.rules.results import (
    ConversionInput,
    MutationEntry,
    PolicyEntry,
    ValidationEntry,
    Written,
)
from kyvsim.migrate.settings import (
    ActionVariant,
    controllers_of,
    inlined,
    levels_of,
    named_conditions,
    named_expressions,
    policy_object,
    settings_of,
    subject_of,
    variants_of,
    without_unread,
    written_conditions,
)
from kyvsim.migrate.values import Expr
from kyvsim.model.migration import Conversion, ConversionCondition, Made, RuleOutcome
from kyvsim.model.policy import Policy, PolicyException, Rule
from kyvsim.model.ports import fault_text
from kyvsim.policy.rule import read_rule
from kyvsim.policy.tree import ContextEntry, VariableEntry

CLEANUP_KINDS: Final = frozenset({"CleanupPolicy", "ClusterCleanupPolicy"})
DELETING: Final = "DeletingPolicy"


def _convert_cleanup(policy: Policy) -> Conversion:
    context, path = ConversionContext({}, set(), {}), ("spec",)
    node, spec = policy.rules[0].tree, policy.document.data["spec"]
    try:
        found = read_matching(node.match, node.exclude, [], AT_REST, context)
        target = Expr("object", found.types)
        names = {"target": target}
        scope = Scope(context, target, target, names, namespace=policy.namespace, at_rest=True)
        holds = conditions_test(node.preconditions, with_entries(node.context, scope)).test
    except NotConvertible as refusal:
        refused = refused_outcome(policy.document, policy.name, path, refusal)
        return Conversion(policy, (refused,), ())
    conditions = written_conditions([*found.conditions, *named_conditions("condition", holds)])
    variables = without_unread(context, [text for _, text in conditions])
    fields = {
        "schedule": spec["schedule"],
        "deletionPropagationPolicy": spec.get("deletionPropagationPolicy"),
        "matchConstraints": found.constraints,
        "variables": named_expressions(variables.items()),
        "conditions": named_expressions(conditions),
    }
    kind = f"Namespaced{DELETING}" if policy.namespace else DELETING
    written = {name: value for name, value in fields.items() if value}
    made = policy_object(kind, policy.name, policy.document, written)
    outcome = converted_outcome(policy.document, policy.name, path, context)
    return Conversion(policy, (outcome,), (Made(made, (0,), (0,)),))


_LONGEST: Final = 63
"""The maximum length of policy names: Kyverno uses them as label values."""
_WRONG: Final = re.compile(r"[^a-z0-9.-]+|\.(?=[.-])|(?<=[.-])\.")
_DIGITS: Final = 6


def object_name(wanted: str) -> str:
    """Return a valid name for an object: `wanted`, or a similar one.

    A hash keeps shortened or changed names distinct.
    """
    fitting = _WRONG.sub("-", wanted.lower()).strip("-.")
    if fitting == wanted and len(wanted) <= _LONGEST:
        return wanted
    mark = sha256(wanted.encode()).hexdigest()[:_DIGITS]
    return f"{fitting[: _LONGEST - _DIGITS - 1].rstrip('-.')}-{mark}".lstrip("-")


class ConvertedRule(NamedTuple):
    """A converted rule."""

    kind: str
    """The kind of the policy that it becomes a part of."""
    matching: Matching
    fields: Mapping[str, object]
    """Other fields of the policy that the rule requires."""
    conditions: tuple[tuple[str, str], ...]
    variables: Mapping[str, str]
    entries: tuple[PolicyEntry, ...]
    place: int = 0
    rule: str = ""
    """The name of the rule in the old policy."""
    level: str | None = None
    """The controllers for which it is derived, "" for Pods; None for all of them."""
    excepted: Excepted = ()
    variant: str = ""
    """The failure action, if the rule has several."""

    @property
    def group(self) -> tuple[object, ...]:
        """The key of rules that share a policy."""
        matching, fields = str(self.matching.constraints), str(self.fields)
        return (self.kind, matching, fields, self.conditions, self.excepted, self.variant)


class SourcePolicy(NamedTuple):
    """The policy to convert."""

    policy: Policy
    computed: ComputedRules

    @property
    def namespace(self) -> str:
        """Its namespace, "" for a cluster-scoped policy."""
        default = "default" if self.policy.kind == "Policy" else ""
        return self.policy.namespace or default


def _policies_of(
    parts: list[ConvertedRule], whole: SourcePolicy, written: Written
) -> Iterable[Made]:
    """Yield the policies for converted rules; rules with the same matching share a policy."""
    groups: list[list[ConvertedRule]] = []
    for part in parts:
        home = next((one for one in groups if _fits(part, one)), None)
        if home is None:
            groups.append([part])
        else:
            home.append(part)
    has_several = len({one.place for one, *_ in groups}) > 1
    for group in groups:
        first, old = group[0], whole.policy.name
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
    first, policy = group[0], whole.policy
    context = ConversionContext({}, set(), {})
    found = dict(first.fields)
    settings = settings_of(policy, first.kind, context)
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
    entries = (one for part in group for one in part.entries)
    found[_ENTRIES.get(first.kind, "validations")] = [one.data(written) for one in entries]
    kind = f"Namespaced{first.kind}" if whole.namespace else first.kind
    made = policy_object(kind, name, policy.document, found)
    places = tuple(part.place for part in group for _ in part.entries)
    return Made(made, tuple(part.place for part in group), places, first.level)


_ENTRIES: Final = MappingProxyType({MUTATING: "mutations", GENERATING: "generate"})
"""The field of the entries by kind of policy, if it is not `validations`."""

_PODS: Final = ("Pod",)
_OTHER_OPERATIONS: Final = ConversionCondition(
    "requests of other operations",
    "they pass: preconditions that fail because a field is missing also deny them",
)
_DELETIONS: Final = ConversionCondition(
    "deletions",
    "they are not evaluated: `request.object` is empty for context entries",
)
_WEBHOOK: Final = ConversionCondition(
    "webhook conditions", "they also apply to scans, unlike those of the old policy's webhook"
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
    """Convert a classic policy, rule by rule, or a cleanup policy.

    `written` returns an object as YAML, for templates. Rules with exceptions are converted to
    separate policies.
    """
    if policy.kind in CLEANUP_KINDS:
        return _convert_cleanup(policy)
    computed = compute_rules(policy)
    whole = SourcePolicy(policy, computed)
    parts: list[ConvertedRule] = []
    verdicts: list[RuleOutcome] = []
    for index, rule in enumerate(policy.rules):
        context = ConversionContext({}, set(), {})
        found: list[ConvertedRule] = []
        try:
            named = excepted(index, computed, policy.key, exceptions)
            for level, derived, variant in _levels(index, rule, whole):
                part = _converted(derived, variant, whole, context._replace(variables={}))
                found.append(
                    part._replace(place=index, rule=rule.name, level=level, excepted=named)
                )
        except NotConvertible as refusal:
            verdicts.append(refused_outcome(policy.document, rule.name, rule.path, refusal))
            continue
        except Exception as error:  # noqa: BLE001 — INVARIANT: an error rejects only its rule
            fault = NotConvertible(fault_text(error), "convert this rule by hand")
            verdicts.append(refused_outcome(policy.document, rule.name, rule.path, fault))
            continue
        parts += found
        verdicts.append(converted_outcome(policy.document, rule.name, rule.path, context))
    return Conversion(policy, tuple(verdicts), tuple(_policies_of(parts, whole, written)))


def _levels(
    place: int, rule: Rule, whole: SourcePolicy
) -> list[tuple[str | None, Rule, ActionVariant]]:
    """Return the written and derived forms of a rule that need separate policies.

    A ValidatingPolicy for Pods is derived for controllers; of a MutatingPolicy only parts are.
    A rule with several actions needs a policy for each.
    """
    # The written rule: the new policy's schema has defaults of its own.
    node = read_rule(whole.policy.document.data["spec"]["rules"][place], rule.path)
    if node.mutate is None:
        return [(None, rule, one) for one in variants_of(node, whole.policy.facts.action)]
    return [
        (level, one, ActionVariant(one.tree if level else node))
        for level, one in levels_of(place, whole.computed).items()
    ]


def _converted(
    rule: Rule, variant: ActionVariant, whole: SourcePolicy, context: ConversionContext
) -> ConvertedRule:
    node, policy = variant.rule, whole.policy
    converter = converter_of(rule, node)
    preconditions, allowed = without_operations(node.preconditions)
    takes_all, usual = converter.kind == GENERATING, converter.operations
    matching = rule_matching(node, usual, allowed, context, takes_all=takes_all)
    if matching.deletes and _finds_nothing_deleted(node.context):
        allowed -= {"DELETE"}
        matching = rule_matching(node, usual, allowed, context, takes_all=takes_all)
        context.note(_DELETIONS)
    derives = matching.kinds == _PODS and bool(whole.computed.derived) and node.mutate is None
    scope = Scope(
        context,
        object=subject_of(matching, context, derived=derives),
        old=Expr("oldObject", matching.types, rewritten=True),
        namespace=whole.namespace,
        patching=node.mutate is not None,
    )
    scope = with_entries(node.context, scope)
    applies = conditions_test(preconditions, scope)
    if applies.fails and set(matching.operations) < set(WRITES):
        context.note(_OTHER_OPERATIONS)
    controllers = whole.computed.controllers if matching.kinds == _PODS else frozenset[str]()
    given = ConversionInput(node, scope, matching, controllers)
    entries = tuple(within(converter.path, converter.emit, given))
    if any(isinstance(one, ValidationEntry) and one.test == TRUE for one in entries):
        context.note(_NEVER_FAILS)
    folded = "variables." in one_line(applies.test) and converter.kind == VALIDATING
    if folded:
        entries = tuple(_guarded(one, applies) for one in entries)
    mutations = tuple(one for one in entries if isinstance(one, MutationEntry))
    guards = every(guard for one in mutations for guard in one.guards)
    if policy.facts.webhook_conditions:
        context.note(_WEBHOOK)
    texts = written_conditions(
        [
            *policy.facts.webhook_conditions,
            *matching.conditions,
            *named_conditions("namespaces", variant.where),
            *named_conditions("precondition", TRUE if folded else applies.test),
            *named_conditions("precondition", guards),
            *((one.name, one.expression) for one in node.cel_preconditions or ()),
        ]
    )
    if matching.kinds == _PODS and converter.kind in DERIVED:
        controllers_of(whole.computed, context)
    settings_of(policy, converter.kind, context)
    if converter.kind == GENERATING:
        texts = tuple((name, inlined(text, context.variables)) for name, text in texts)
    fields = dict(within(converter.path, converter.fields, policy.facts, scope))
    for one in mutations:
        fields |= one.fields
    read_by = [*(text for one in entries for text in one.texts), *dict(texts).values(), str(fields)]
    return ConvertedRule(
        variant=variant.name,
        kind=converter.kind,
        matching=matching,
        fields=fields,
        conditions=texts,
        variables=without_unread(context, read_by),
        entries=entries,
    )


def _finds_nothing_deleted(entries: Iterable[ContextEntry]) -> bool:
    """Return whether queries of context entries read the object, which is null at a deletion.

    Only variables in braces read the old object in this case.
    upstream: pkg/engine/variables (substituteVariablesIfAny), which context loaders do not call
    """
    queries = (one.jmes_path for one in entries if isinstance(one, VariableEntry))
    return any("request.object" in _BRACES.sub("", one) for one in queries)


def _guarded(entry: PolicyEntry, applies: FallibleTest) -> PolicyEntry:
    """Return an entry of a rule; a validation is true if the rule does not apply."""
    if not isinstance(entry, ValidationEntry):
        return entry
    # `||` would hide an error if the other side is true.
    whole = chosen(applies.test, entry.test, TRUE)
    return entry._replace(test=whole if applies.fails else guarded(applies.test, entry.test))
