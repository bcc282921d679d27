"""What a rule type is: a value that names its field in a rule and holds all that differs by type.

Validation, autogen, coverage and `lint` read these records. Below them is what several types
share: how autogen rewrites their bodies, and messages of validate rules.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from kyvsim.engine.compile.compiled import CompiledBody, Exclusion, Outcome, Proof, passed
from kyvsim.engine.compile.tracing import APPLIED, CHECKED, Ends
from kyvsim.engine.context import JSONContext
from kyvsim.jmespath import QueryError, System, Template, compile_template
from kyvsim.kubernetes.objects import Json, Path
from kyvsim.model.policy import Policy, Rule, RuleFacts
from kyvsim.model.result import Phase
from kyvsim.model.tracing import NO_TRACE, TraceContext
from kyvsim.policy.tree import Pattern, PodSecurityExclusion, PolicyNode, RuleNode, Validate


class RuleContext(NamedTuple):
    """What compiling one rule may look at."""

    policy: Policy
    rule: Rule
    system: System
    trace: TraceContext = NO_TRACE
    """The part of the rule that is being compiled, with its tracing and coverage."""

    def within(self, *steps: str | int) -> "RuleContext":
        """Return the context of a part further in."""
        return self._replace(trace=self.trace.at(*steps))


Remark: TypeAlias = tuple[Path, str]
"""Where in a body something is wrong, and why."""
Remarks: TypeAlias = Callable[[Json], Iterator[Remark]]
"""Yields problems of a body."""


class PodTemplate(NamedTuple):
    """Where a controller keeps its Pod: the field under `spec`, and the path for references."""

    field: str
    path: str


class Autogen(NamedTuple):
    """What autogen makes of a rule of some type, for the controllers of Pods."""

    rewrite: Callable[[Json, PodTemplate], Json]
    """Returns the section of the derived rule, such as `validate`, from that of the
    rule; None where nothing is derived."""
    blocker: Callable[[Json], str] = lambda _: ""
    """Returns why a section disables autogen for the whole policy, or ""."""
    sources: tuple[str, ...] = ("request.object", "request.oldObject")
    """What its expressions call the object."""


NO_AUTOGEN = Autogen(lambda _section, _template: None)
"""Autogen derives nothing from such a rule."""


class RuleType(NamedTuple):
    """One kind of rule; the first type whose field is there takes the rule."""

    field: tuple[str, ...]
    """The path of its specification, the body, in a rule, such as `("validate", "pattern")`; the
    first of them is the section."""
    phase: Phase
    compile: Callable[[RuleContext], CompiledBody]
    autogen: Autogen
    counts: Callable[[Json], bool] = lambda body: body is not None
    """Whether a body excludes the other types of its section."""
    problems: Remarks = lambda _: iter(())
    """What upstream refuses in the frame of a body, each with upstream's reason."""
    broken: Callable[[RuleNode], Iterator[Remark]] = lambda _: iter(())
    """Yields the expressions of a rule that cannot be compiled and make it fail when it runs, with
    their paths in the document."""
    patterns: Callable[[RuleNode], Iterable[Pattern]] = lambda _: ()
    """What of a rule is shaped like the object: patterns and patches."""
    fields: frozenset[str] = frozenset()
    """Fields of a rule that only rules of this type may have."""
    reads_context: bool = True
    """Whether its expressions know the entries of the rule's `context`."""
    facts: Callable[[RuleFacts, RuleNode, PolicyNode], RuleFacts] = lambda facts, _rule, _policy: (
        facts
    )
    """Adds to what is known of a rule of a policy."""
    ends: Callable[[Json], Ends] | None = None
    """What can come of a rule with this body; None where that follows from the phase."""
    tolerant: bool = True
    """Whether failures that an UPDATE did not bring may be passed over."""
    exclusions: Callable[[Sequence[PodSecurityExclusion]], tuple[Exclusion, ...]] | None = None
    """Compiles the controls that exceptions exempt, for a body that decides itself what the
    exceptions that match change; None where a rule is skipped that an exception matches."""
    concerns: Callable[[RuleContext], Callable[[Json], bool]] | None = None
    """Compiles a predicate: whether an object has anything that the rule checks; if it has
    nothing, not even the rule's context is loaded."""
    proofs: Callable[[RuleContext], tuple[Proof, ...]] = lambda _: ()
    """Compiles what shows how a body without a context ends where an object is created."""
    then: "RuleType | None" = None
    """What looks at the same rule again, in a later phase."""

    @property
    def section(self) -> str:
        """The part of a rule that it belongs to, such as `validate`."""
        return self.field[0]

    def body(self, rule: Mapping[str, Json]) -> Json:
        """Return the value of this type's field in a rule, or None."""
        return body_at(self.field, rule)

    def ends_of(self, rule: Mapping[str, Json]) -> Ends:
        """Return what can come of a rule of this type."""
        if self.ends is not None:
            return self.ends(self.body(rule))
        return CHECKED if self.phase in {Phase.VALIDATE, Phase.VERIFY_IMAGES} else APPLIED


def body_at(field: tuple[str, ...], rule: Mapping[str, Json]) -> Json:
    """Return the value of a type's field in a rule, or None."""
    value: Json = rule
    for name in field:
        value = value.get(name) if value.__class__ is dict else None
    return value


def validation_of(rule: RuleNode) -> Validate:
    """Return the `validate` section of a rule whose type is one of it."""
    if rule.validate is None:
        raise ValueError(f"rule {rule.name} has no validate section")
    return rule.validate


# Absolute `$(…)` references in messages, moved along with the pattern they point into.


REFERENCE = re.compile(r"(^|[^\\])(\$\(.[^ ]*\))")
"""A reference: group 1 is the character before it, group 2 the reference.

upstream: pkg/engine/variables/re.compile, RegexReferences.
"""


def rewrite_references(message: str, path: str, pivot: str) -> str:
    """Return `message` with `path` put behind `pivot` in every reference.

    `pivot` is the name of the rule's body; for `anyPattern` the index that follows stays with it.
    """
    if "$(" not in message:
        return message

    def shifted(found: re.Match[str]) -> str:
        before, reference = found.groups()
        anchor = pivot
        if pivot == "anyPattern" and pivot in reference:
            index = reference.partition(pivot)[2][1:].split("/")[0]
            anchor = f"{pivot}/{index}"
        return before + reference.replace(anchor, f"{anchor}/{path}")

    return REFERENCE.sub(shifted, message)


# What autogen carries of the bodies of rules into the rules that it derives for controllers.
#
# Source of the rules: upstream pkg/autogen/v1.


_QUANTIFIERS = frozenset({"any", "all"})
_KEPT = ("failureAction", "failureActionOverrides", "allowExistingViolations")


def nest_in_template(part: Json, template: PodTemplate) -> Json:
    """Return a pattern or patch for a Pod as one for what keeps the Pod."""
    return {"spec": {template.field: part}}


def rewrite_conditions(conditions: Json) -> Json:
    """Return conditions as a derived rule has them: without an `any` or `all` that is empty.

    Upstream writes a rule down to change it, and a list of nothing is left out then. So an empty
    `any`, which never holds, becomes no condition at all in derived rules.
    """
    if conditions.__class__ is list:
        return [rewrite_conditions(one) for one in conditions]
    if conditions.__class__ is not dict:
        return conditions
    return {name: one for name, one in conditions.items() if one != [] or name not in _QUANTIFIERS}


def autogen_rewrite(
    field: str,
    rewrite: Callable[[Json, PodTemplate], Json] = lambda body, _: body,
    *,
    pivot: str = "",
) -> Autogen:
    """Return how autogen rewrites a validate rule: its body, and the references in its message.

    `pivot` is what references in the message are shifted behind: the field, unless it is given.
    """

    def rewrite_section(section: Json, template: PodTemplate) -> Json:
        kept = {name: section[name] for name in _KEPT if name in section}
        if message := section.get("message"):
            kept["message"] = rewrite_references(message, template.path, pivot or field)
        return {**kept, field: rewrite(section[field], template)}

    return Autogen(rewrite_section)


# Messages of validate rules: the rule's own text with its variables, and what is put around it.
#
# Source of the wording: upstream pkg/engine/handlers/validation/validate_resource.go.

_MessageRenderer = Callable[[str, JSONContext], Json]
"""Fills the variables of a text; raises `QueryError` where one cannot be resolved."""
_NO_TEXT = "the produced message didn't resolve to a string, check your policy definition."


def _compile_messages(system: System, text: str) -> _MessageRenderer:
    """Return a renderer that has compiled `text`, and compiles any other text once.

    A rule has few texts: its own, and its own joined with those of the conditions that held.
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
    return (context.rule.data.get("validate") or {}).get("message") or ""


def has_fixed_message(context: RuleContext) -> bool:
    """Return whether the text of a validate rule's `message` has no variables."""
    return compile_template(own_message(context), context.system).constant


def usual_pass(context: RuleContext) -> Outcome:
    """Return the pass of a validate rule that looks at the object as a whole."""
    return passed(f"validation rule '{context.rule.name}' passed.")


def compile_denial_message(
    system: System, own: str, bare: str
) -> Callable[[JSONContext, str], str]:
    """Return what joins `own` with the texts of the conditions that held; `bare` where all lack."""
    render = _compile_messages(system, own)

    def message(scope: JSONContext, conditions: str) -> str:
        parts = [part for part in (own, conditions) if part]
        if not parts:
            return bare
        try:
            rendered = render("; ".join(parts), scope)
        except QueryError:
            return conditions
        return rendered if rendered.__class__ is str else _NO_TEXT

    return message


def compile_failure_message(
    context: RuleContext,
) -> Callable[[JSONContext, str, str], tuple[str, str]]:
    """Return a function: the rule's own message before `end`, or `cause` without a value.

    That returns the whole text, and the part of it that is the rule's own message.
    """
    own, name = own_message(context), context.rule.name
    render = _compile_messages(context.system, own)

    def message(scope: JSONContext, end: str, cause: str) -> tuple[str, str]:
        if not own:
            return f"validation error: {end}", ""
        try:
            rendered = str(render(own, scope))
        except QueryError:
            failed = f"variables substitution error in rule {name} execution error: {cause}"
            return f"validation error: {failed}", ""
        sentence = rendered if rendered.endswith(".") else f"{rendered}."
        return f"validation error: {sentence} {end}", rendered

    return message
