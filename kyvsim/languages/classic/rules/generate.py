"""`generate`: objects that the background controller would create for a trigger.

Source of the rules: upstream pkg/background/generate/generator.go. A rule that was reached passes;
what hinders its objects (a missing source, a variable without value) is told in its note.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from kyvsim.engine.compile.compiled import CompiledBody, Evaluation, Outcome
from kyvsim.engine.compile.followed import APPLIED, Ends, followed_template
from kyvsim.engine.conditions import ConditionError
from kyvsim.engine.context import JSONContext
from kyvsim.jmespath import QueryError, compile_template
from kyvsim.kubernetes.objects import Json, text_field
from kyvsim.languages.classic.rule_type import Autogen, Remark, RuleContext, RuleType
from kyvsim.languages.classic.rules.downstream import (
    GenerateError,
    SourceMissingError,
    Sources,
    clone_downstreams,
    clone_list_downstreams,
    data_downstreams,
    one_of_each,
    with_owner_labels,
)
from kyvsim.languages.classic.rules.generated_names import name_problems
from kyvsim.languages.classic.rules.loops import (
    compile_elements,
    compile_list,
    compile_loop_preconditions,
)
from kyvsim.languages.classic.rules.shared import empty
from kyvsim.model.policy import GeneratePattern, Generation, RuleFacts
from kyvsim.model.ports import STEPS_OF_AN_OBJECT
from kyvsim.model.result import Phase, RuleStatus
from kyvsim.model.simulation import Reason

_Downstreams = Callable[[JSONContext], list[Json]]
"""Makes the objects of a pattern; raises `QueryError` or `GenerateError`."""


class Wish(NamedTuple):
    """What a rule, or one element of its loops, wants to be there; nobody owns it yet."""

    objects: tuple[Json, ...] = ()
    problem: str = ""
    """Why there is nothing to want."""
    place: str = ""
    """Which element of which loop had the problem, as upstream tells it."""
    reason: Reason = Reason.OTHER
    """What kind of problem it is."""


Wishes = Callable[[JSONContext], Iterable[Wish]]

_FIELDS = ("apiVersion", "kind", "namespace", "name", "data", "clone", "cloneList")


def _compile_pattern(context: RuleContext, spec: Json) -> _Downstreams:
    pattern = {field: spec[field] for field in _FIELDS if spec.get(field) is not None}
    template = compile_template(pattern, context.system)
    if context.probe.follower is not None:
        template = followed_template(template, "what is to be there", context.probe)

    meter = context.system.meter

    def make(scope: JSONContext) -> list[Json]:
        filled = template.value if template.constant else template.render(scope)
        outside = scope.outside
        own = outside.sources(context.policy.key) if outside.sources else outside.cluster
        found: list[Json] = []
        for one in _source_of(filled)(filled, Sources(own, outside.made)):
            meter.spend(STEPS_OF_AN_OBJECT)
            found.append(one)
        return found

    return make


def _source_of(pattern: Json) -> Callable[[Json, Sources], Iterator[Json]]:
    if (pattern.get("clone") or {}).get("name"):
        return clone_downstreams
    if (pattern.get("cloneList") or {}).get("kinds"):
        return clone_list_downstreams
    return data_downstreams


def compile_wishes(context: RuleContext) -> Wishes:
    """Return what says which objects a generate rule wants; a problem ends no loop.

    Raises what `compile_template` raises.
    """
    spec = context.rule.data["generate"]
    loops = [
        _compile_loop(context.within("generate", "foreach", number), number, loop)
        for number, loop in enumerate(spec.get("foreach") or ())
    ]
    if loops:
        return lambda scope: (wish for loop in loops for wish in loop(scope))
    make = _compile_pattern(context.within("generate"), spec)
    return lambda scope: (_wish(lambda: make(scope)),)


def _wish(make: Callable[[], list[Json]], place: str = "") -> Wish:
    try:
        return Wish(tuple(make()))
    except SourceMissingError as error:
        return Wish(problem=str(error), place=place, reason=Reason.SOURCE_MISSING)
    except (ConditionError, GenerateError, QueryError) as error:
        return Wish(problem=str(error), place=place, reason=Reason.NO_VALUE)


def _compile_loop(context: RuleContext, number: int, loop: Json) -> Wishes:
    list_of = compile_list(loop.get("list") or "", context.system, context.probe)
    elements_of = compile_elements(loop, 0, context.system, context.probe)
    preconditions = compile_loop_preconditions(loop, context)
    make = _compile_pattern(context, loop)
    start = f"failed to process {number} foreach in rule {context.rule.name}"

    def make_each(scope: JSONContext) -> Iterator[Wish]:
        try:
            values = list_of(scope)
        except QueryError as error:
            place = f"failed to evaluate {number} foreach list"
            yield Wish(problem=str(error), place=place, reason=Reason.LIST_FAILED)
            return
        for element in elements_of(scope, enumerate(values)):
            inside = element.scope
            yield _wish(
                lambda inside=inside: make(inside) if preconditions(inside).met else [],  # type: ignore[misc]
                f"{start}: failed to process {element.number} element",
            )

    return make_each


def _compile(context: RuleContext) -> CompiledBody:
    wishes = compile_wishes(context)
    spec = context.rule.data["generate"]
    copies_all = bool(spec.get("cloneList"))
    synchronizes = bool(spec.get("synchronize"))

    def evaluate(evaluation: Evaluation) -> Outcome:
        made: list[Json] = []
        for wish in wishes(evaluation.scope):
            if wish.problem:
                note = f"nothing is generated: {wish.problem}"
                return Outcome(RuleStatus.PASS, "", note=note)
            made += wish.objects
        trigger = evaluation.request.subject
        if copies_all and not made:
            return Outcome(RuleStatus.PASS, "", note="nothing is generated: `cloneList` finds none")
        kept, again = one_of_each(made, last_counts=synchronizes)
        owned = tuple(with_owner_labels(one, context.policy, context.rule, trigger) for one in kept)
        note = "; ".join((*again, *name_problems(owned)))
        return Outcome(RuleStatus.PASS, "", generated=owned, note=note)

    return evaluate


def _hindrance(section: Json) -> str:
    return "it generates objects" if section else ""


def _idle(spec: Json) -> Iterator[Remark]:
    for path, why in empty([], "foreach", "it generates nothing")(spec.get("foreach")):
        yield ("foreach", *path), why


_SETTINGS = ("synchronize", "orphanDownstreamOnPolicyDelete")
_OF_POLICY = "useServerSideApply"


def _facts(facts: RuleFacts, rule: Mapping[str, Json], spec: Mapping[str, Json]) -> RuleFacts:
    written = rule["generate"]
    if not written:
        return facts
    loops = written.get("foreach")
    asked = written.get("generateExisting")
    said = {**{name: written.get(name) for name in _SETTINGS}, _OF_POLICY: spec.get(_OF_POLICY)}
    generation = Generation(
        whole=_pattern_facts(written),
        loops=None if loops is None else tuple(map(_pattern_facts, loops)),
        synchronizes=bool(written.get("synchronize")),
        looks_back=bool(spec.get("generateExisting") if asked is None else asked),
        orphans=bool(written.get("orphanDownstreamOnPolicyDelete")),
    )
    upkeep = {name: value for name, value in said.items() if value is not None}
    return facts._replace(generation=generation, upkeep=upkeep)


def _pattern_facts(written: Mapping[str, Json]) -> GeneratePattern:
    return GeneratePattern(
        api_version=text_field(written, "apiVersion"),
        kind=text_field(written, "kind"),
        namespace=text_field(written, "namespace"),
        name=text_field(written, "name"),
        has_data=written.get("data") is not None,
        clone=written.get("clone"),
        clone_list=written.get("cloneList"),
        list=text_field(written, "list"),
    )


_MADE = Ends(APPLIED.names, lambda outcome: APPLIED.of(outcome) if outcome.generated else None)

RULE_TYPE = RuleType(
    ("generate",),
    Phase.GENERATE,
    _compile,
    Autogen(lambda _section, _template: None, _hindrance),
    idle=_idle,
    facts=_facts,
    ends=lambda _: _MADE,
)
