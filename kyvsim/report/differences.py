"""How the results of two policy sets on the same resources differ, and how a comparison ended."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import zip_longest
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
from kyvsim.report.ending import error_fact, informing, left_out_fact, warning_fact, weighing
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

    def add(
        self, found: VerdictDifference, pair: tuple[Row | None, Row | None], *, words: bool
    ) -> bool:
        """Count two verdicts, and return whether they differ."""
        old, new = (frozenset(row.result.exceptions if row else ()) for row in pair)
        for exception in sorted(old - new):
            exempted = exception, *found.results
            self.by_exception[exempted] = self.by_exception.get(exempted, 0) + 1
        if found.results[0] == found.results[1]:
            texts = [
                (one.message, one.note, one.path) if one else () for one in (found.old, found.new)
            ]
            reworded = texts[0] != texts[1]
            if not (words and reworded):
                self.same += 1
                self.reworded += reworded
                return False
        self.verdicts[found.direction] = self.verdicts.get(found.direction, 0) + 1
        place = found.policy, found.rule, *found.results
        self.by_rule[place] = self.by_rule.get(place, 0) + 1
        return True


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
        before, after = rows(old, seen.looked_at[0]), rows(new, seen.looked_at[1])
        if not (before or after):
            seen.unmatched.append(object_key(new.trigger))
        verdicts = []
        for key in dict.fromkeys((*before, *after)):
            for pair in zip_longest(before.get(key, ()), after.get(key, ())):
                found = VerdictDifference(*key, _result(pair[0]), _result(pair[1]))
                if pair[0] is None or pair[1] is None:
                    found = found._replace(missing=_missing(pair, by_key))
                if seen.add(found, pair, words=words):
                    # A difference with the places in the manifest to which `apply` points, too.
                    sides = [
                        said._replace(failed_place=finding_of(row, response, ask).location)
                        if said and row and row.status not in QUIET
                        else said
                        for said, row, response, ask in zip(
                            (found.old, found.new), pair, (old, new), explain, strict=True
                        )
                    ]
                    verdicts.append(found._replace(old=sides[0], new=sides[1]))
        objects = tuple(_object_differences(old, new))
        for one in objects:
            seen.objects[one.effect] += 1
        return ResourceDifference(new.trigger, resource_place(new), tuple(verdicts), objects)

    return difference


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


def _missing(
    pair: tuple[Row | None, Row | None], by_key: tuple[Mapping[str, Policy], ...]
) -> NoResultReason:
    """Return why one set says nothing by the rule of the other; derived rules are as written."""
    row, others = (pair[0], by_key[1]) if pair[0] else (pair[1], by_key[0])
    other = others.get(row.policy.key) if row else None
    if row is None or other is None:
        return NoResultReason.POLICY
    own = next((one.name for one in row.policy.rules if one.path == row.result.rule.path), None)
    known = any(one.name == own for one in other.rules)
    return NoResultReason.MATCH if known else NoResultReason.RULE


def _object_differences(old: EngineResponse, new: EngineResponse) -> Iterator[ObjectDifference]:
    """Yield the objects that two sets leave otherwise: the resource, and what was made for it."""
    before, after = mutations(old), mutations(new)
    if (before or after) and not _is_same(old.object, new.object):
        sides = (_mutated(old, before), _mutated(new, after))
        yield ObjectDifference(ObjectEffect.MUTATED, object_key(new.trigger), *sides)
    for effect, made in (
        (ObjectEffect.GENERATED, generated),
        (ObjectEffect.PATCHED, patched_targets),
    ):
        olds, news = _by_key(made(old)), _by_key(made(new))
        for key in dict.fromkeys((*olds, *news)):
            for one, other in zip_longest(olds.get(key, ()), news.get(key, ())):
                if not (
                    one
                    and other
                    and _is_same(one.object, other.object)
                    and dict(one.settings) == dict(other.settings)
                ):
                    yield ObjectDifference(effect, key, _outcome(one), _outcome(other))


def _mutated(response: EngineResponse, answers: Iterable[PolicyResponse]) -> ComparedObject:
    """Return a resource with the rules that passed of policies that changed it."""
    authors = (
        Author(answer.policy.key, one.rule.name, answer.policy.document.locate(one.rule.path))
        for answer in answers
        for one in answer.results
        if one.status is RuleStatus.PASS
    )
    return ComparedObject(response.object, tuple(authors), {})


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


def figures(one: RunComparison) -> dict[str, int]:
    """Return how many differences there are, by name."""
    objects = {effect.value: number for effect, number in one.seen.objects.items()}
    return {"verdicts": sum(one.seen.verdicts.values()), **objects}


def comparison_ending(one: RunComparison) -> RunEnding:
    """Return how a comparison ended; to be asked when all resources have been read."""
    seen = one.seen
    remarks = (*one.all_diagnostics(), *one.final_diagnostics())
    directions = (
        (Direction.STRICTER, "stricter"),
        (Direction.LAXER, "less strict"),
        (Direction.NEITHER, "equally strict"),
    )
    verdicts = sum(seen.verdicts.values())
    listed = ", ".join(
        f"{seen.verdicts[way]} {text}" for way, text in directions if seen.verdicts.get(way)
    )
    shown = "" if one.applied else "nothing was compared"
    text = f"{counted(verdicts, 'result')} changed ({listed})"
    facts = [
        error_fact(remarks),
        Fact("notApplied", int(not one.applied), shown),
        weighing("verdicts", verdicts, text, RunVerdict.DIFFERENT),
    ]
    for effect, noun, words in (
        (ObjectEffect.MUTATED, "resource", "mutated differently"),
        (ObjectEffect.GENERATED, "object", "generated differently"),
        (ObjectEffect.PATCHED, "existing object", "patched differently"),
    ):
        text = f"{counted(seen.objects[effect], noun)} {words}"
        facts.append(weighing(effect.value, seen.objects[effect], text, RunVerdict.DIFFERENT))
    differs = bool(verdicts or any(seen.objects.values()))
    if one.applied and (seen.same or differs):
        text = f"{counted(seen.same, 'result')} unchanged" if seen.same else ""
        same = Fact("same", seen.same, text, RunVerdict.PASSED if differs else RunVerdict.SAME)
        text = f"{seen.reworded} of them with a different message (--messages)"
        facts += [same, informing("reworded", seen.reworded, text)]
    elif one.applied:
        text = "no rule of either set matched"
        facts.append(Fact("nothingCompared", 1, text, RunVerdict.NOTHING))
    uncompared = sum(1 for _ in one.uncompared()) if one.applied else 0
    text = f"{counted(uncompared, 'rule')} not compared"
    facts.append(informing("uncomparedRules", uncompared, text))
    unmatched = f" ({len(seen.unmatched)} unmatched)" if seen.unmatched else ""
    text = f"{counted(one.new.resource_count, 'resource')}{unmatched}" if one.applied else ""
    return RunEnding(
        (
            *facts,
            Fact("resources", one.new.resource_count, text),
            Fact("unmatched", len(seen.unmatched), ""),
            left_out_fact(len(frozenset((*one.old.left_out, *one.new.left_out)))),
            warning_fact(remarks),
        )
    )


def counts_line(one: RunComparison) -> str:
    """Return the counts as one line."""
    return ", ".join(f"{name}: {number}" for name, number in figures(one).items())
