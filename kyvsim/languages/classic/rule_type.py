"""Rule types: each is a value with its field in a rule and everything that is specific to it.

Validation, coverage and `lint` read these records; the autogen rewrites of a type are in
`kyvsim/policy/autogen.py`. The table maps fields to types, which are modules of `rules/`, loaded
on first use. Below it are the facts of rules, and shared code: messages of validate rules.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from importlib import import_module
from typing import Final, NamedTuple, TypeAlias

from kyvsim.engine.compile.compiled import CompiledBody, Exclusion, Outcome, passed
from kyvsim.engine.compile.tracing import APPLIED, CHECKED, Ends
from kyvsim.engine.context import JSONContext
from kyvsim.engine.match import kinds_of_block
from kyvsim.jmespath import QueryError, System, Template, compile_template
from kyvsim.kubernetes.objects import Json, Path
from kyvsim.model.policy import FailureAction, Override, Policy, PolicyFacts, Rule, RuleFacts
from kyvsim.model.result import Phase
from kyvsim.model.tracing import NO_TRACE, TraceContext
from kyvsim.policy.rule import FailureOverride, PolicyNode, RuleNode, Validate, read_rule
from kyvsim.policy.tree import Pattern, PodSecurityExclusion
from kyvsim.policy.visit import texts_within


class RuleContext(NamedTuple):
    """The inputs for compiling one rule."""

    policy: Policy
    rule: Rule
    system: System
    trace: TraceContext = NO_TRACE
    """The part of the rule that is being compiled, with tracing and coverage."""

    def within(self, *steps: str | int) -> "RuleContext":
        """Return the context of a nested part."""
        return self._replace(trace=self.trace.at(*steps))


Problem: TypeAlias = tuple[Path, str]
"""The path of a problem in the document, and the reason."""


class RuleType(NamedTuple):
    """One kind of rule; the first type whose field is present has the rule."""

    field: tuple[str, ...]
    """The path of its specification, the body, in a rule, such as `("validate", "pattern")`; the
    first key is the section."""
    phase: Phase
    compile: Callable[[RuleContext], CompiledBody]
    counts: Callable[[RuleNode], bool] = lambda _: True
    """Whether the body excludes the other types of its section."""
    problems: Callable[[RuleNode], Iterator[Problem]] = lambda _: iter(())
    """Yields problems of the frame of a body, each with upstream's reason."""
    broken: Callable[[RuleNode], Iterator[Problem]] = lambda _: iter(())
    """Yields the expressions of a rule that cannot be compiled and make it fail when it runs."""
    patterns: Callable[[RuleNode], Iterable[Pattern]] = lambda _: ()
    """The parts of a rule that are shaped like the object: patterns and patches."""
    fields: frozenset[str] = frozenset()
    """Fields of a rule that only rules of this type may have."""
    facts: Callable[[RuleFacts, RuleNode, PolicyNode], RuleFacts] = lambda facts, _rule, _policy: (
        facts
    )
    """Adds to the facts of a rule of a policy."""
    ends: Callable[[RuleNode], Ends] | None = None
    """The possible outcomes of a rule of this type; None if they follow from the phase."""
    tolerant: bool = True
    """Whether failures that existed before an UPDATE may be skipped."""
    exclusions: Callable[[Sequence[PodSecurityExclusion]], tuple[Exclusion, ...]] | None = None
    """Compiles the controls that exceptions exempt, for a body that evaluates matching exceptions
    itself; None if a rule with a matching exception is skipped."""
    concerns: Callable[[RuleContext], Callable[[Json], bool]] | None = None
    """Compiles a predicate: whether an object has anything that the rule checks; if it has
    not, even the rule's context is not loaded."""
    then: "RuleType | None" = None
    """The type that evaluates the same rule again, in a later phase."""

    @property
    def section(self) -> str:
        """The section of a rule that contains it, such as `validate`."""
        return self.field[0]

    def ends_of(self, rule: RuleNode) -> Ends:
        """Return the possible outcomes of a rule of this type."""
        if self.ends is not None:
            return self.ends(rule)
        return CHECKED if self.phase in {Phase.VALIDATE, Phase.VERIFY_IMAGES} else APPLIED


_HOMES: Final[Mapping[tuple[str, ...], str]] = {
    ("validate", "manifests"): "validate_manifests.RULE_TYPE",
    ("validate", "podSecurity"): "validate_pod_security.RULE_TYPE",
    ("mutate", "targets"): "mutate_existing.RULE_TYPE",
    ("mutate", "foreach"): "mutate_foreach.RULE_TYPE",
    ("mutate", "patchStrategicMerge"): "mutate_resource.STRATEGIC_MERGE",
    ("mutate", "patchesJson6902"): "mutate_resource.JSON_PATCH",
    ("validate", "deny"): "validate_deny.RULE_TYPE",
    ("validate", "pattern"): "validate_pattern.PATTERN",
    ("validate", "anyPattern"): "validate_pattern.ANY_PATTERN",
    ("validate", "foreach"): "validate_foreach.RULE_TYPE",
    ("validate", "cel"): "validate_cel.RULE_TYPE",
    ("generate",): "generate.RULE_TYPE",
    ("verifyImages",): "verify_images.RULE_TYPE",
}
"""The path of a type's body in a rule, as in `RuleType.field`, and the type's module and name."""

SECTIONS: Final = tuple(dict.fromkeys(field[0] for field in _HOMES))
"""The sections that define what a rule does; a rule has one of them."""


@lru_cache(maxsize=16)
def _type_at(field: tuple[str, ...]) -> RuleType:
    """Return the type with this field, from its module, which is loaded on first use."""
    module, name = _HOMES[field].split(".")
    found: RuleType = getattr(import_module(f"kyvsim.languages.classic.rules.{module}"), name)
    return found


def rule_types_of(rule: RuleNode) -> Iterator[RuleType]:
    """Yield the types whose field a rule has; the first one applies."""
    return (_type_at(field) for field in _HOMES if field in rule.bodies)


def rule_types() -> Iterator[RuleType]:
    """Yield all types, in their order."""
    return map(_type_at, _HOMES)


# Facts of a rule, and of the policy that contains it, computed once.


def rule_of(data: Mapping[str, object], path: Path, policy: PolicyNode) -> Rule:
    """Return the rule at a path, in a policy with this specification."""
    tree = read_rule(data, path)
    return Rule(tree.name, data, path, _rule_facts(tree, policy), tree)


def derived_rule(
    written: Rule, data: Mapping[str, object], fields: Path, policy: PolicyNode
) -> Rule:
    """Return the autogen rule with this data; its patterns are below `fields`."""
    tree = read_rule(data, written.path, fields)
    facts = _rule_facts(tree, policy)
    return Rule(tree.name, data, written.path, facts, tree, autogen_prefix=fields)


def _rule_facts(rule: RuleNode, policy: PolicyNode) -> RuleFacts:
    types = tuple(rule_types_of(rule))
    validate = rule.validate
    facts = RuleFacts(
        section=types[0].section if types else "",
        kinds=kinds_of_block(rule.match),
        action=_action(validate.failure_action, validate.overrides) if validate else _action(),
        sees_background=rule.skip_background_requests is False,
    )
    for one in types:
        facts = one.facts(facts, rule, policy)
    return facts


def policy_facts(policy: PolicyNode, rules: tuple[RuleFacts, ...]) -> PolicyFacts:
    """Return the facts of a ClusterPolicy or Policy, from its rules and other fields."""
    webhook = policy.webhook
    failure_policy = (webhook and webhook.failure_policy) or policy.failure_policy
    mutates_on_update = any(one.mutates_on_update for one in rules)
    return PolicyFacts(
        api_version="kyverno.io/v1",
        action=_action(policy.validation_failure_action, policy.overrides),
        admission=policy.admission is not False,
        background=policy.background is not False,
        applies_one_rule=policy.apply_rules == "One",
        emits_warnings=policy.emit_warning is True,
        fails_closed=failure_policy in {"", "Fail"},
        webhook_conditions=tuple(
            (one.name, one.expression) for one in (webhook.match_conditions if webhook else ())
        ),
        webhook_timeout=(webhook and webhook.timeout_seconds) or policy.webhook_timeout_seconds,
        applies_server_side=policy.use_server_side_apply is True,
        mutates_on_update=mutates_on_update or policy.mutate_existing_on_policy_update is True,
    )


def _action(action: str = "", overrides: tuple[FailureOverride, ...] = ()) -> FailureAction:
    return FailureAction(
        action, tuple(Override(one.action, one.namespaces, one.selector) for one in overrides)
    )


def validation_of(rule: RuleNode) -> Validate:
    """Return the `validate` section of a validate rule."""
    if rule.validate is None:
        raise ValueError(f"rule {rule.name} has no validate section")
    return rule.validate


# Messages of validate rules: the rule's own message with its variables, and the text around it.
#
# Source of the wording: upstream pkg/engine/handlers/validation/validate_resource.go.


def _compile_messages(system: System, text: str) -> Callable[[str, JSONContext], Json]:
    """Return a renderer that has compiled `text`, and compiles any other text once.

    It raises `QueryError` if a variable cannot be resolved. A rule has few texts: its own, and
    its own joined with the messages of conditions that held.
    """
    templates: dict[str, Template] = {text: compile_template(text, system)}

    def render(message: str, scope: JSONContext) -> Json:
        template = templates.get(message)
        if template is None:
            template = templates[message] = compile_template(message, system)
        return template.value if template.constant else template.render(scope)

    return render


def own_message(context: RuleContext) -> str:
    """Return the text of a validate rule's `message`, or ""."""
    validate = context.rule.tree.validate
    return validate.message if validate else ""


def has_fixed_message(context: RuleContext) -> bool:
    """Return whether the text of a validate rule's `message` has no variables."""
    return compile_template(own_message(context), context.system).constant


def usual_pass(context: RuleContext) -> Outcome:
    """Return the pass of a validate rule that checks the whole object."""
    return passed(f"validation rule '{context.rule.name}' passed.")


def chosen_pass(context: RuleContext, index: int) -> Outcome:
    """Return the pass of an `anyPattern` whose pattern at `index` matches."""
    return passed(f"validation rule '{context.rule.name}' anyPattern[{index}] passed.")


LOOPS_PASSED: Final = passed("rule passed")
"""The pass of `foreach`."""


LOST_MESSAGE = "the rule's message "
"""Begins the hint that a message cannot be rendered."""


def _hint_for_message(context: RuleContext, error: QueryError) -> str:
    # upstream drops the message without a word, pkg/engine/handlers/validation.
    remedy = "give the variable a default: {{ VARIABLE || '' }}"
    is_derived = all(context.rule is not rule for rule in context.policy.rules)
    if is_derived and ".template.metadata.name" in error.message:
        remedy = "autogen rules read the Pod template, which has no name: use {{ request.name }}"
    # The messages of conditions are rendered together with that of the rule.
    expression = error.message.removeprefix("failed to resolve ").partition(" at path ")[0]
    written = texts_within(context.rule.data, context.rule.path)
    messages = (one for one in written if one.path[-1] == "message" and expression in one.text)
    path = next((one.path for one in messages), (*context.rule.path, "validate"))
    place = context.policy.document.locate(path)
    shown = f"({place}) " if place.file else ""  # a cluster knows no files
    return (
        f"{LOST_MESSAGE}{shown}is not shown, since it cannot be rendered: "
        f"{error.message} ({remedy})"
    )


def compile_denial_message(
    context: RuleContext, own: str, bare: str
) -> Callable[[JSONContext, str], str]:
    """Return a function that joins `own` with messages of conditions; `bare` if there are none."""
    render = _compile_messages(context.system, own)

    def message(scope: JSONContext, conditions: str) -> str:
        parts = [part for part in (own, conditions) if part]
        if not parts:
            return bare
        try:
            rendered = render("; ".join(parts), scope)
        except QueryError as error:
            scope.hints.append(_hint_for_message(context, error))
            return conditions
        if rendered.__class__ is str:
            return str(rendered)
        return "the produced message didn't resolve to a string, check your policy definition."

    return message


def compile_failure_message(
    context: RuleContext,
) -> Callable[[JSONContext, str, str], tuple[str, str]]:
    """Return a function that renders the rule's own message before `end`; without one, `cause`.

    It returns the whole text, and the part of it that is the rule's own message.
    """
    own, name = own_message(context), context.rule.name
    render = _compile_messages(context.system, own)

    def message(scope: JSONContext, end: str, cause: str) -> tuple[str, str]:
        if not own:
            return f"validation error: {end}", ""
        try:
            rendered = str(render(own, scope))
        except QueryError as error:
            scope.hints.append(_hint_for_message(context, error))
            failed = f"variables substitution error in rule {name} execution error: {cause}"
            return f"validation error: {failed}", ""
        sentence = rendered if rendered.endswith(".") else f"{rendered}."
        return f"validation error: {sentence} {end}", rendered

    return message
