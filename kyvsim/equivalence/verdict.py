"""The results of a search: an answer with counterexamples and gaps, or examples of rules."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import NamedTuple, TypeAlias

from kyvsim.engine.missing_input import remedy_for
from kyvsim.equivalence.cases import STRANGER, Case, Space
from kyvsim.equivalence.field_rules import is_accepted
from kyvsim.equivalence.lookups import is_image
from kyvsim.equivalence.objects import unwrapped
from kyvsim.equivalence.policy_runner import (
    UNDERIVED,
    CaseEffect,
    PolicyPair,
    PolicyRunner,
    difference,
)
from kyvsim.equivalence.search import Disagreement, SearchResult
from kyvsim.kubernetes.objects import (
    KubernetesObject,
    Path,
    metadata,
    object_key,
    replaced,
    without,
)
from kyvsim.model.comparison import (
    Account,
    Answer,
    Counterexample,
    Evidence,
    ExampleObject,
    Limit,
    MissingExample,
    RuleAction,
    SideReached,
)
from kyvsim.model.coverage import Point, Ratio
from kyvsim.model.request import Operation
from kyvsim.model.source import Location
from kyvsim.model.tracing import PointKind

# Minimise a case with some property: remove what is not necessary, and simplify the rest.
#
# Delta debugging over the tree of an object: https://www.st.cs.uni-saarland.de/papers/tse2002/.

_TYPE = frozenset({("apiVersion",), ("kind",)})
_IDENTITY = _TYPE | {("metadata",), ("metadata", "name")}
_NAMES_THERE = _IDENTITY | {
    *(("metadata", "namespace"), ("image",), ("manifest",), ("config",), ("digest",)),
    *(("registry",), ("repository",), ("data",)),
}
"""Names of looked-up objects cannot be removed, and image data has required fields."""
_SIMPLE: tuple[object, ...] = ("a", 1, True)


def shrunk(case: Case, shows: Callable[[Case], bool], probes_left: int) -> Case:
    """Return the smallest case that single steps lead to and that still `shows` the property.

    At most `probes_left` cases are evaluated.
    """
    start = 0
    while True:
        found = None
        for number, smaller in enumerate(islice(_smaller(case), start, None), start):
            probes_left -= 1
            if probes_left < 0:
                return case
            if shows(smaller):
                # Earlier steps did not help: they are tried again after all others.
                found, start = smaller, number
                break
        if found is not None:
            case = found
        elif start:
            start = 0
        else:
            return case


def _smaller(case: Case) -> Iterator[Case]:
    """Yield cases that are a step simpler, the smallest ones first."""
    if case.operation is not Operation.CREATE and not case.part:
        yield case._replace(operation=Operation.CREATE, old=None)
    if case.user != STRANGER:
        yield case._replace(user=STRANGER)
    if case.namespace_labels:
        yield case._replace(namespace_labels={})
    yield from _with_smaller_answers(case)
    pod = unwrapped(case.object)
    if pod is not None:
        yield case._replace(object=pod)
    if case.old == case.object:
        # Unchanged parts are changed in both objects, or hardly anything could be removed.
        for smaller in _smaller_objects(case.object):
            yield case._replace(object=smaller, old=smaller)
    for smaller in _smaller_objects(case.object):
        yield case._replace(object=smaller)
    if case.old is not None:
        yield case._replace(old=case.object)
        for smaller in _smaller_objects(case.old):
            yield case._replace(old=smaller)


def _with_smaller_answers(case: Case) -> Iterator[Case]:
    for place, one in enumerate(case.there):
        before, after = case.there[:place], case.there[place + 1 :]
        yield case._replace(there=(*before, *after))
        for smaller in _smaller_objects(one, _NAMES_THERE, _NAMES_THERE):
            yield case._replace(there=(*before, smaller, *after))


def _smaller_objects(
    obj: KubernetesObject, there: frozenset[Path] = _IDENTITY, unchanged: frozenset[Path] = _TYPE
) -> Iterator[KubernetesObject]:
    """Yield smaller objects, with the parts in `there` kept and those in `unchanged` unchanged."""
    found = [(path, size) for path, size, _ in _nodes(obj, ()) if path and path not in there]
    for path, _ in sorted(found, key=lambda one: -one[1]):
        yield without(obj, path)
    for path, _, value in _nodes(obj, ()):
        if path not in unchanged and value.__class__ not in {dict, list}:
            for simple in _simpler(value):
                yield replaced(obj, path, simple)


def _simpler(value: object) -> Iterator[object]:
    """Yield simpler values of the same type: short ones, and strings with a part removed."""
    yield from (one for one in _SIMPLE if one.__class__ is value.__class__ and one != value)
    if value.__class__ is not str or len(value) < 2:
        return
    for size in (len(value) // 2, len(value) // 4, 1):
        for start in range(0, len(value), size or 1):
            left = value[:start] + value[start + (size or 1) :]
            if left:
                yield left


def _nodes(value: object, path: Path) -> Iterator[tuple[Path, int, object]]:
    """Yield each part of a value with its path and its size in nodes."""
    size = 1
    members: Iterable[tuple[str | int, object]] = ()
    if value.__class__ is dict:
        members = value.items()
    elif value.__class__ is list:
        members = enumerate(value)
    for step, inner in members:
        below = list(_nodes(inner, (*path, step)))
        size += below[-1][1]
        yield from below
    yield path, size, value


DecisionText = Callable[[Case], tuple[str, Location | None]]
"""Returns why a case has its result, and the location of the decision."""
_MOST_SHOWN = 5
_MOST_TRIED = 12
"""How many differences are minimised to find those with different causes."""
_PROBES, _PROBES_ASIDE = 1500, 200
"""How many evaluations minimising a case may take; fewer if it does not count."""
_CUT_SHORT = ("some variations of the cases, because the limit on time or cases was reached",)


class VerdictContext(NamedTuple):
    """The policy sets and functions for results."""

    pair: PolicyPair
    """The policy sets, with tracing."""
    quick: PolicyPair
    """The same without tracing."""
    why_old: DecisionText
    why_new: DecisionText


Share: TypeAlias = Callable[
    [Callable[[Disagreement], Counterexample], Sequence[Disagreement]], Iterable[Counterexample]
]
"""Returns the results of a function for differences, in their order, like `map`."""


def evidence_of(
    tried: SearchResult, space: Space, context: VerdictContext, share: Share
) -> Evidence:
    """Return the result of a search; `share` minimises cases, with several processes or one."""
    answer, reasons = answer_of(tried, space, context.pair)
    # Before cases are minimised, which other processes may do.
    old = _reached(context.pair.old, tried.acted[0])
    new = _reached(context.pair.new, tried.acted[1])
    minimise = partial(_counterexample, context=context)
    # Only one of several counterexamples with the same cause is shown.
    shown: dict[tuple[object, ...], Counterexample] = {}
    counted = _counted(tried)[:_MOST_TRIED]
    for one, example in zip(counted, share(minimise, counted), strict=False):
        places = (example.old.place, example.new.place, one.finding)
        shown.setdefault((example.difference, example.operation, *places), example)
        if len(shown) == _MOST_SHOWN:
            break
    firsts = {one.finding.limit: one for one in reversed(tried.disagreements)}
    return Evidence(
        answer=answer,
        cases=tried.total,
        given=tried.given,
        denied=tried.denied,
        counterexamples=tuple(shown.values()),
        limited=tuple(share(minimise, [firsts[one] for one in Limit if one in firsts])),
        reasons=reasons,
        untried=(
            *(_CUT_SHORT if tried.finished and not tried.ended else ()),
            *(f"requests to the subresource `{one}`" for one in space.subresources),
        ),
        old=old,
        new=new,
    )


def answer_of(
    tried: SearchResult, space: Space, pair: PolicyPair
) -> tuple[Answer, tuple[str, ...]]:
    """Return the answer of a search, and why its cases are not enough, if so."""
    reasons = tuple(_not_seen(tried, pair))
    in_vain = any(one.finding.limit is Limit.UNANSWERED for one in tried.disagreements)
    # Failed lookups are usually why rules did not have all outcomes.
    if space.lookups and (in_vain or reasons) and not all(tried.answered):
        lookups = ", ".join(space.lookups)
        reasons += (f"the policies look up data that was not passed ({lookups})",)
    if _counted(tried):
        return Answer.COUNTEREXAMPLE, reasons
    return Answer.NOT_COVERED if reasons else Answer.EQUAL, reasons


def first_counterexample(tried: SearchResult, context: VerdictContext) -> Counterexample | None:
    """Return the first difference, minimised; None if there is no relevant one."""
    return next((_counterexample(one, context) for one in _counted(tried)), None)


def _counted(tried: SearchResult) -> list[Disagreement]:
    """Return the relevant differences: creations first, given objects before others."""
    found = [one for one in tried.disagreements if one.finding.limit is None]
    return sorted(
        found, key=lambda one: (one.case.operation is not Operation.CREATE, not one.case.given)
    )


def _small(one: Disagreement, context: VerdictContext) -> Case:
    """Return a minimised case; only the traced policy sets know which lookups failed."""
    if one.finding.limit is Limit.UNANSWERED:
        return one.case

    def shows(pair: PolicyPair, case: Case) -> bool:
        verdicts = pair.run(case)
        return difference(*verdicts) is not None and pair.finding(case, verdicts) == one.finding

    counts = one.finding.limit is None
    found = shrunk(one.case, partial(shows, context.quick), _PROBES if counts else _PROBES_ASIDE)
    return found if shows(context.pair, found) else one.case


def _counterexample(one: Disagreement, context: VerdictContext) -> Counterexample:
    case = _small(one, context)
    verdicts = context.pair.run(case)
    user = {
        "username": case.user.username,
        "groups": list(case.user.groups),
        "roles": list(case.user.roles),
        "clusterRoles": list(case.user.cluster_roles),
    }
    return Counterexample(
        difference=one.finding.difference,
        object=case.object,
        operation=case.operation.value,
        old_object=case.old,
        user=None
        if case.user == STRANGER
        else {one: value for one, value in user.items() if value},
        namespace_labels=dict(case.namespace_labels) or None,
        there=case.there,
        old=_account(verdicts.old, case, context.why_old),
        new=_account(verdicts.new, case, context.why_new),
        given=one.case.given,
        limit=one.finding.limit,
    )


def _account(effect: CaseEffect, case: Case, why: DecisionText) -> Account:
    text, place = why(case)
    changed = effect.object if effect.changed else None
    if changed is not None and "namespace" not in metadata(case.object):
        # Without the namespace that was only added for the evaluation.
        meta = {name: value for name, value in metadata(changed).items() if name != "namespace"}
        changed = {**changed, "metadata": meta}
    return Account(
        said=effect.results,
        object=changed,
        generated=effect.generated,
        deleted=effect.deleted,
        later=effect.later,
        decided=text,
        place=place,
    )


def _not_seen(tried: SearchResult, pair: PolicyPair) -> Iterator[str]:
    if not tried.finished:
        cases = "1 case" if tried.total == 1 else f"{tried.total} cases"
        yield f"the limit on time or cases was reached after {cases}, so not all were tried"
    for name, side in (("old", pair.old), ("new", pair.new)):
        unseen = filter(None, map(_unseen, side.points()))
        yield from (f"{missing} ({name})" for missing in unseen)
    for name, passed in zip(("old", "new"), tried.let_pass, strict=True):
        if not passed:
            yield f"no valid object was admitted ({name})"
    for kind in tried.one_sided:
        if kind != UNDERIVED:
            yield f"only one side handles {kind}, and no relevant difference was found for it"
    if not any(tried.acted):
        yield "neither side had any effect in any case"


def _unseen(point: Point) -> str:
    """Return which outcomes a rule or a validation never had, "" if an answer can do without.

    Parts of rules need not have had all of theirs: many are implied by others, and no object shows
    them. The account of each side lists them.
    """
    missing = sorted(one.name for one in point.outcomes if not one.times)
    if point.kind is PointKind.RULE and missing:
        named = f"{point.policy}/{point.rule}" if point.rule else point.policy
        return f"{named} never {' or '.join(missing)}, {point.location}"
    is_validation = point.kind is PointKind.CONDITION and "validations" in point.path
    if is_validation and any(one.name == "false" and not one.times for one in point.outcomes):
        return f"a validation of {point.policy} was never false, {point.location}"
    return ""


def _reached(side: PolicyRunner, acted: int) -> SideReached:
    points = side.points()
    times = [outcome.times for point in points for outcome in point.outcomes]
    return SideReached(
        policies=tuple(f"{one.policy.kind} {one.policy.key}" for one in side.policies.policies),
        acted=acted,
        ratio=Ratio(sum(map(bool, times)), len(times)),
        unreached=tuple(one for one in points if any(not out.times for out in one.outcomes)),
    )


# Examples: the smallest objects, from the cases of a search, that show what each rule does.

_STATUSES: Mapping[str, str] = {"passed": "pass", "failed": "fail", "applied": "pass"}
_REFUSING = frozenset({"fail", "error"})
_EXAMPLE_PROBES = 2000
"""How many evaluations minimising an object may take."""
_LONGEST_NAME = 63


def actions(points: Iterable[Point]) -> Iterator[RuleAction]:
    """Yield all outcomes that the rules of some policies can have."""
    for point in points:
        for outcome in point.outcomes if point.kind is PointKind.RULE else ():
            yield RuleAction(point.policy, point.rule, outcome.name, point.location)


def examples(
    requested: Sequence[RuleAction], tried: SearchResult, pair: PolicyPair
) -> tuple[tuple[ExampleObject, ...], tuple[MissingExample, ...]]:
    """Return a minimised object for each outcome of rules, and the outcomes without one.

    The policies are the old ones of the pair. One object can show several outcomes.
    """
    results = [(case, pair.run(case).old) for case in tried.cases]
    usable = [one for one in results if _is_manifest(one[0], pair)]
    found: dict[str, tuple[Case, list[RuleAction]]] = {}
    missing: list[MissingExample] = []
    for one in requested:
        fitting = [(case, effect) for case, effect in usable if _shows(one, effect)]
        if not fitting:
            shown = [case for case, effect in results if _shows(one, effect)]
            effects = [effect for _, effect in results]
            reason = _needs(shown) if shown else _seen(one, effects, tried.total)
            if not tried.finished and not tried.stalled:
                reason += "; the limit on time or cases was reached, so not all were tried"
            missing.append(MissingExample(one, reason))
            continue
        # Cases without lookups and in which few rules fail come first, small ones before others.
        case, effect = min(
            fitting,
            key=lambda both: (
                len(both[0].there),
                len(_refusals(both[1])),
                len(json.dumps(both[0].object)),
            ),
        )
        small = _small_example(one, case, effect, pair)
        text = json.dumps((small.object, small.there), sort_keys=True)
        found.setdefault(text, (small, []))[1].append(one)
    return tuple(_named(found.values(), pair)), tuple(missing)


def _is_manifest(case: Case, pair: PolicyPair) -> bool:
    """Return whether manifests of valid objects describe a case: its object and its lookups."""
    return (
        case._replace(there=()).is_plain
        and not any(map(is_image, case.there))
        and all(is_accepted(obj, pair.find) for obj in (case.object, *case.there))
    )


def _needs(shown: Sequence[Case]) -> str:
    """Return what an outcome requires besides an object, from the cases that show it."""
    case = next((one for one in shown if not one.is_plain), shown[0])
    if any(one.is_plain for one in shown):
        return "every object that shows it is invalid for an API server"
    if case.part:
        return f"it requires a request to the subresource {case.part}"
    operations = dict.fromkeys(one.operation for one in shown)
    if Operation.CREATE not in operations:
        return f"it requires a request with the operation {' or '.join(operations)}"
    if any(map(is_image, case.there)):
        return (
            "it requires data of images, which is not in manifests: write a test with `images:` "
            "in its values file"
        )
    if case.there:
        return "it requires invalid objects that the policy looks up (--resource)"
    if case.namespace_labels:
        return "it requires a namespace with certain labels"
    return "it requires a request of a certain user"


def _seen(one: RuleAction, effects: Sequence[CaseEffect], total: int) -> str:
    """Return what a rule did in all cases, if none shows the requested outcome."""
    results = [
        (result.status, result.message)
        for effect in effects
        for result in effect.results
        if (result.policy, result.rule) == (one.policy, one.rule)
    ]
    cases = "1 case" if total == 1 else f"{total} cases"
    if not results:
        return f"the rule matched no object in {cases}"
    if any(effect.unanswered for effect in effects):
        return f"none of {cases} shows it, and the policy looks up data that was not passed"
    statuses = dict.fromkeys(status for status, _ in results)
    errors = [message for status, message in results if status == "error"]
    if errors:
        cause = "; ".join(filter(None, (errors[0], remedy_for(errors[0]))))
        return f"none of {cases} shows it, and the rule ended in an error in some: {cause}"
    if one.outcome == "applied" and "pass" in statuses:
        return f"the rule changed nothing in {cases}"
    return f"the rule only ended with {', '.join(statuses)} in {cases}"


def _shows(one: RuleAction, effect: CaseEffect) -> bool:
    status = _STATUSES[one.outcome]
    results = ((one.policy, one.rule, status) == result[:3] for result in effect.results)
    acts = effect.changed or bool(effect.generated) or effect.deleted
    return any(results) and (one.outcome != "applied" or acts)


def _refusals(effect: CaseEffect) -> frozenset[tuple[str, str]]:
    return frozenset((one.policy, one.rule) for one in effect.results if one.status in _REFUSING)


def _small_example(one: RuleAction, case: Case, effect: CaseEffect, pair: PolicyPair) -> Case:
    before = _refusals(effect)

    def shows(smaller: Case) -> bool:
        if not _is_manifest(smaller, pair):
            return False
        found = pair.run(smaller).old
        return _shows(one, found) and _refusals(found) <= before

    return shrunk(case, shows, _EXAMPLE_PROBES)


def _named(
    found: Iterable[tuple[Case, list[RuleAction]]], pair: PolicyPair
) -> Iterator[ExampleObject]:
    """Yield objects, named after their outcomes if the name does not change the result."""
    taken: set[tuple[str, ...]] = set()
    for case, shown in found:
        obj, first = case.object, shown[0]
        words = f"{first.rule or first.policy.rpartition('/')[2]}-{first.outcome}"
        name = re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")[-_LONGEST_NAME:].strip("-")
        named = {**obj, "metadata": {**metadata(obj), "name": name}}
        is_free = tuple(object_key(named)) not in taken
        effect = pair.run(case._replace(object=named)).old
        kept = named if is_free and all(_shows(one, effect) for one in shown) else obj
        taken.add(tuple(object_key(kept)))
        yield ExampleObject(kept, tuple(shown), case.there)
