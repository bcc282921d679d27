"""How the results of two policy sets on the same resources differ, and how a comparison ended."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import zip_longest
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from kyvsim.kubernetes.objects import Json, ObjectKey, object_key
from kyvsim.kubernetes.quantities import deep_equal
from kyvsim.model.comparison import (
    Author,
    ComparedObject,
    ComparedResult,
    Direction,
    NoResultReason,
    ObjectDifference,
    ObjectEffect,
    ResourceDifference,
    UncomparedRule,
    VerdictDifference,
)
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.policy import Policy
from kyvsim.model.result import (
    EngineResponse,
    Fact,
    PolicyResponse,
    RuleStatus,
    RunEnding,
    RunVerdict,
)
from kyvsim.model.source import Path
from kyvsim.report.diagnostics import resource_place, rule_place
from kyvsim.report.ending import error_fact, informing, left_out_fact, warning_fact
from kyvsim.report.failure_reasons import Explain
from kyvsim.report.finding import finding_of
from kyvsim.report.object_text import whole_numbers
from kyvsim.report.results import (
    QUIET,
    ChangedObject,
    Row,
    compile_rows,
    generated,
    mutations,
    patched_targets,
)
from kyvsim.report.run import Run
from kyvsim.report.style import counted

_RowKey: TypeAlias = tuple[str, str, str]
"""Policy, rule and phase: by these two sets are put beside each other."""


_Rule: TypeAlias = tuple[str, Path]
"""The key of a policy and the path of a rule; derived rules have the path of the written one."""


class DifferenceCounts:
    """What is counted while differences stream by."""

    __slots__ = (
        "by_exception",
        "by_rule",
        "looked_at",
        "objects",
        "reworded",
        "same",
        "unmatched",
        "verdicts",
    )

    def __init__(self) -> None:
        self.same = 0
        """Results that are the same in both sets."""
        self.reworded = 0
        """Those of them whose words or paths are others."""
        self.verdicts: dict[str, int] = {}
        """Verdicts that differ, by their direction."""
        self.by_rule: dict[tuple[str, str, str, str], int] = {}
        """The same by policy, rule, old and new status."""
        self.by_exception: dict[tuple[str, str, str], int] = {}
        """Results of the old set by each exception that counts there and not in the new set, by old
        and new status."""
        self.objects: dict[ObjectEffect, int] = dict.fromkeys(ObjectEffect, 0)
        """Objects that differ."""
        self.looked_at: tuple[set[_Rule], set[_Rule]] = (set(), set())
        """Rules of the old and the new set that had something to say."""
        self.unmatched: list[ObjectKey] = []
        """Resources of which neither set said anything."""

    @property
    def total(self) -> int:
        """How many differences there are."""
        return sum(self.verdicts.values()) + sum(self.objects.values())


def compile_differences(
    policies: tuple[Iterable[Policy], Iterable[Policy]],
    seen: DifferenceCounts,
    explain: tuple[Explain, Explain],
    *,
    words: bool,
) -> Callable[[EngineResponse, EngineResponse], ResourceDifference]:
    """Return a function that compares responses of two sets of policies, and counts what it sees.

    With `words` other messages and paths of the same verdict are a difference, too. `explain`
    explains failures of each set that differ.
    """
    rows_of = compile_rows(audit_warn=False)
    by_key = tuple({one.key: one for one in some} for some in policies)

    def rows(response: EngineResponse, looked_at: set[_Rule]) -> dict[_RowKey, list[Row]]:
        found: dict[_RowKey, list[Row]] = {}
        for row in rows_of(response):
            looked_at.add((row.policy.key, row.result.rule.path))
            key = row.policy.key, row.result.rule.name, row.result.phase.value
            found.setdefault(key, []).append(row)
        return found

    def difference(old: EngineResponse, new: EngineResponse) -> ResourceDifference:
        before, after = (
            rows(one, looked_at) for one, looked_at in zip((old, new), seen.looked_at, strict=True)
        )
        if not (before or after):
            seen.unmatched.append(object_key(new.trigger))
        verdicts = []
        for key in dict.fromkeys((*before, *after)):
            for pair in zip_longest(before.get(key, ()), after.get(key, ())):
                found = _verdict(key, pair, by_key)
                _count_exceptions(pair, found.results, seen)
                if _differs(found, seen, words=words):
                    # A difference with the places in the manifest to which `apply` points, too.
                    responses = (old, new)
                    sides = [
                        said._replace(failed_place=finding_of(row, response, ask).location)
                        if said and row and row.status not in QUIET
                        else said
                        for said, row, response, ask in zip(
                            (found.old, found.new), pair, responses, explain, strict=True
                        )
                    ]
                    placed = found._replace(old=sides[0], new=sides[1])
                    verdicts.append(placed)
        objects = tuple(_objects(old, new))
        for one in objects:
            seen.objects[one.effect] += 1
        return ResourceDifference(new.trigger, resource_place(new), tuple(verdicts), objects)

    return difference


def _differs(found: VerdictDifference, seen: DifferenceCounts, *, words: bool) -> bool:
    """Return whether two verdicts differ, and count them."""
    if found.results[0] == found.results[1]:
        seen.same += 1
        reworded = _words(found.old) != _words(found.new)
        seen.reworded += reworded
        if not (words and reworded):
            return False
        seen.same -= 1
        seen.reworded -= 1
    seen.verdicts[found.direction] = seen.verdicts.get(found.direction, 0) + 1
    place = found.policy, found.rule, *found.results
    seen.by_rule[place] = seen.by_rule.get(place, 0) + 1
    return True


def _count_exceptions(
    pair: tuple[Row | None, Row | None], results: tuple[str, str], seen: DifferenceCounts
) -> None:
    old, new = (frozenset(row.result.exceptions if row else ()) for row in pair)
    for exception in sorted(old - new):
        place = exception, *results
        seen.by_exception[place] = seen.by_exception.get(place, 0) + 1


def _words(said: ComparedResult | None) -> tuple[str, ...]:
    return (said.message, said.note, said.path) if said else ()


def _verdict(
    key: _RowKey, pair: tuple[Row | None, Row | None], by_key: tuple[Mapping[str, Policy], ...]
) -> VerdictDifference:
    policy, rule, phase = key
    old, new = map(_result, pair)
    found = VerdictDifference(policy, rule, phase, old, new)
    before, after = pair
    if before and not after:
        return found._replace(missing=_missing(before, by_key[1]))
    return found._replace(missing=_missing(after, by_key[0])) if after and not before else found


def _missing(row: Row, others: Mapping[str, Policy]) -> NoResultReason:
    """Return why the other set says nothing by the rule of a row; derived ones are as written."""
    other = others.get(row.policy.key)
    if other is None:
        return NoResultReason.POLICY
    own = next((one.name for one in row.policy.rules if one.path == row.result.rule.path), None)
    return (
        NoResultReason.MATCH if any(one.name == own for one in other.rules) else NoResultReason.RULE
    )


def _result(row: Row | None) -> ComparedResult | None:
    if row is None:
        return None
    found = row.result
    return ComparedResult(
        result=row.status,
        message=found.message,
        note=found.note,
        path=found.path,
        rule_place=rule_place(row),
        failed_place=None,
    )


def _objects(old: EngineResponse, new: EngineResponse) -> Iterator[ObjectDifference]:
    """Yield the objects that two sets leave otherwise: the resource, and what was made for it."""
    before, after = mutations(old), mutations(new)
    if (before or after) and not _is_same(old.object, new.object):
        key = object_key(new.trigger)
        yield ObjectDifference(
            ObjectEffect.MUTATED, key, _mutated(old, before), _mutated(new, after)
        )
    yield from _made(ObjectEffect.GENERATED, generated(old), generated(new))
    yield from _made(ObjectEffect.PATCHED, patched_targets(old), patched_targets(new))


def _mutated(response: EngineResponse, answers: Iterable[PolicyResponse]) -> ComparedObject:
    return ComparedObject(response.object, tuple(_authors(answers)), {})


def _authors(answers: Iterable[PolicyResponse]) -> Iterator[Author]:
    """Yield the rules that passed of policies that changed a resource."""
    for answer in answers:
        for one in answer.results:
            if one.status is RuleStatus.PASS:
                place = answer.policy.document.locate(one.rule.path)
                yield Author(answer.policy.key, one.rule.name, place)


def _made(
    effect: ObjectEffect, old: Iterable[ChangedObject], new: Iterable[ChangedObject]
) -> Iterator[ObjectDifference]:
    """Yield the objects that rules created or changed besides, and that differ."""
    before, after = _by_key(old), _by_key(new)
    for key in dict.fromkeys((*before, *after)):
        for one, other in zip_longest(before.get(key, ()), after.get(key, ())):
            if not (one and other and _is_kept(one, other)):
                yield ObjectDifference(effect, key, _outcome(one), _outcome(other))


def _is_kept(one: ChangedObject, other: ChangedObject) -> bool:
    return _is_same(one.object, other.object) and dict(one.settings) == dict(other.settings)


def _by_key(changes: Iterable[ChangedObject]) -> dict[ObjectKey, list[ChangedObject]]:
    found: dict[ObjectKey, list[ChangedObject]] = {}
    for one in changes:
        found.setdefault(object_key(one.object), []).append(one)
    return found


def _outcome(change: ChangedObject | None) -> ComparedObject | None:
    if change is None:
        return None
    rules = (one for one in change.policy.rules if one.name == change.rule)
    rule = next(rules, None)
    place = change.policy.document.locate(rule.path if rule else ())
    author = Author(change.policy.key, change.rule, place)
    return ComparedObject(change.object, (author,), change.settings)


def _is_same(one: Json, other: Json) -> bool:
    """Return whether two objects are the same as Kubernetes has them: 1 is 1.0, and not true."""
    return one is other or deep_equal(whole_numbers(one), whole_numbers(other))


# Two runs over the same resources, one beside the other, and how that ends.


class RunComparison(NamedTuple):
    """Two runs, and what differs, read lazily."""

    names: tuple[str, str]
    """What the sets are called: their paths."""
    old: Run
    new: Run
    resources: Iterable[ResourceDifference]
    """One for each resource, in input order, those without a difference too; often read once."""
    seen: DifferenceCounts
    """What is counted while they are read."""

    @property
    def applied(self) -> bool:
        """Whether both sets could be applied: else there is nothing to compare."""
        return self.old.applied and self.new.applied

    def strictly(self) -> "RunComparison":
        """Return a comparison in which every warning about input is an error."""
        return self._replace(old=self.old.strictly(), new=self.new.strictly())

    def all_diagnostics(self) -> tuple[Diagnostic, ...]:
        """Return the diagnostics about inputs, each once: most inputs belong to both sets."""
        return tuple(dict.fromkeys((*self.old.diagnostics, *self.new.diagnostics)))

    def final_diagnostics(self) -> tuple[Diagnostic, ...]:
        """Return the diagnostics that are known when all is read."""
        return tuple(dict.fromkeys((*self.old.final_diagnostics(), *self.new.final_diagnostics())))

    def without(self) -> Iterator[tuple[str, dict[tuple[str, str], int]]]:
        """Yield each exception that only the old set has, and what becomes of what it let off.

        That is how often a status of the old set became one of the new set, when all is read.
        """
        for exception in dict.fromkeys(self.old.exceptions):
            if exception not in self.new.exceptions:
                yield (
                    exception,
                    {
                        (old, new): number
                        for (key, old, new), number in self.seen.by_exception.items()
                        if key == exception
                    },
                )

    def uncompared(self) -> Iterator[UncomparedRule]:
        """Yield the rules by which neither set said anything of any resource, when all is read."""
        found: dict[tuple[str, str], list[UncomparedRule]] = {}
        for index, run in enumerate((self.old, self.new)):
            for policy in run.policies:
                for rule in policy.rules:
                    looked_at = (policy.key, rule.path) in self.seen.looked_at[index]
                    place = None if looked_at else policy.document.locate(rule.path)
                    one = UncomparedRule(policy.key, rule.name, None, None)
                    own = one._replace(old=place) if index == 0 else one._replace(new=place)
                    found.setdefault((policy.key, rule.name), []).append(own)
        for some in found.values():
            if all(one.old or one.new for one in some):
                old = next((one.old for one in some if one.old), None)
                new = next((one.new for one in some if one.new), None)
                yield some[0]._replace(old=old, new=new)


def comparison_ending(one: RunComparison) -> RunEnding:
    """Return how a comparison ended; to be asked when all resources have been read."""
    return RunEnding(tuple(_facts(one)))


def figures(one: RunComparison) -> dict[str, int]:
    """Return how many differences there are, by name."""
    objects = {effect.value: number for effect, number in one.seen.objects.items()}
    return {"verdicts": sum(one.seen.verdicts.values()), **objects}


def counts_line(one: RunComparison) -> str:
    """Return the same as one line."""
    return ", ".join(f"{name}: {number}" for name, number in figures(one).items())


_WAYS = MappingProxyType(
    {
        Direction.STRICTER: "stricter",
        Direction.LAXER: "less strict",
        Direction.NEITHER: "equally strict",
    }
)
_EFFECTS = (
    (ObjectEffect.MUTATED, "resource", "mutated differently"),
    (ObjectEffect.GENERATED, "object", "generated differently"),
    (ObjectEffect.PATCHED, "existing object", "patched differently"),
)


def _facts(one: RunComparison) -> Iterator[Fact]:
    seen = one.seen
    remarks = (*one.all_diagnostics(), *one.final_diagnostics())
    yield error_fact(remarks)
    shown = "" if one.applied else "nothing was compared"
    yield Fact("notApplied", int(not one.applied), shown)
    verdicts = sum(seen.verdicts.values())
    ways = [f"{seen.verdicts[way]} {_WAYS[way]}" for way in Direction if seen.verdicts.get(way)]
    text = f"{counted(verdicts, 'result')} changed ({', '.join(ways)})"
    yield _differing("verdicts", verdicts, text)
    for effect, noun, words in _EFFECTS:
        number = seen.objects[effect]
        yield _differing(effect.value, number, f"{counted(number, noun)} {words}")
    if one.applied:
        yield from _compared(one)
    uncompared = sum(1 for _ in one.uncompared()) if one.applied else 0
    text = f"{counted(uncompared, 'rule')} not compared"
    yield informing("uncomparedRules", uncompared, text)
    yield Fact("resources", one.new.resource_count, _resources(one) if one.applied else "")
    yield Fact("unmatched", len(seen.unmatched), "")
    yield left_out_fact(len(frozenset((*one.old.left_out, *one.new.left_out))))
    yield warning_fact(remarks)


def _differing(key: str, number: int, text: str) -> Fact:
    return Fact(key, number, text, RunVerdict.DIFFERENT) if number else Fact(key, 0, "")


def _compared(one: RunComparison) -> Iterator[Fact]:
    """Yield what is the same, or that there was nothing to compare."""
    seen = one.seen
    if not (seen.same or seen.total):
        yield Fact("nothingCompared", 1, "no rule of either set matched", RunVerdict.NOTHING)
        return
    text = f"{counted(seen.same, 'result')} unchanged" if seen.same else ""
    yield Fact("same", seen.same, text, RunVerdict.PASSED if seen.total else RunVerdict.SAME)
    text = f"{seen.reworded} of them with a different message (--messages)"
    yield informing("reworded", seen.reworded, text)


def _resources(one: RunComparison) -> str:
    number = len(one.seen.unmatched)
    unmatched = f" ({number} unmatched)" if number else ""
    return f"{counted(one.new.resource_count, 'resource')}{unmatched}"
