"""Two runs over the same resources, one beside the other, and how that ends."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.difference import (
    Direction,
    Effect,
    ResourceDifference,
    UncomparedRule,
)
from kyvsim.model.result import Ending, Fact, Verdict
from kyvsim.report.differences import Seen
from kyvsim.report.ending import error_fact, informing, left_out_fact, warning_fact
from kyvsim.report.run import Run
from kyvsim.report.style import counted


class Comparison(NamedTuple):
    """Two runs, and what differs, as it is asked for."""

    names: tuple[str, str]
    """What the sets are called: their paths."""
    old: Run
    new: Run
    resources: Iterable[ResourceDifference]
    """One for each resource, in input order, those without a difference too; often read once."""
    seen: Seen
    """What is counted while they are read."""

    @property
    def applied(self) -> bool:
        """Whether both sets could be applied: else there is nothing to compare."""
        return self.old.applied and self.new.applied

    def strictly(self) -> "Comparison":
        """Return a comparison in which every warning about input is an error."""
        return self._replace(old=self.old.strictly(), new=self.new.strictly())

    def remarks(self) -> tuple[Diagnostic, ...]:
        """Return what is to be said of the inputs, once: most of them are those of both sets."""
        return tuple(dict.fromkeys((*self.old.diagnostics, *self.new.diagnostics)))

    def last_remarks(self) -> tuple[Diagnostic, ...]:
        """Return what is to be said when all is read."""
        return tuple(dict.fromkeys((*self.old.last_remarks(), *self.new.last_remarks())))

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


def comparison_ending(one: Comparison) -> Ending:
    """Return how a comparison ended; to be asked when all resources have been read."""
    return Ending(tuple(_facts(one)))


def figures(one: Comparison) -> dict[str, int]:
    """Return how many differences there are, by name."""
    objects = {effect.value: number for effect, number in one.seen.objects.items()}
    return {"verdicts": sum(one.seen.verdicts.values()), **objects}


def counts_line(one: Comparison) -> str:
    """Return the same as one line."""
    return ", ".join(f"{name}: {number}" for name, number in figures(one).items())


_EFFECTS = (
    (Effect.MUTATED, "resource", "mutated otherwise"),
    (Effect.GENERATED, "generated object", "otherwise"),
    (Effect.PATCHED, "existing object", "patched otherwise"),
)


def _facts(one: Comparison) -> Iterator[Fact]:
    seen = one.seen
    remarks = (*one.remarks(), *one.last_remarks())
    yield error_fact(remarks)
    told = "" if one.applied else "nothing was compared"
    yield Fact("notApplied", int(not one.applied), told)
    verdicts = sum(seen.verdicts.values())
    ways = [f"{seen.verdicts[way]} {way.value}" for way in Direction if seen.verdicts.get(way)]
    text = f"{counted(verdicts, 'verdict')} otherwise ({', '.join(ways)})"
    yield _differing("verdicts", verdicts, text)
    for effect, noun, words in _EFFECTS:
        number = seen.objects[effect]
        yield _differing(effect.value, number, f"{counted(number, noun)} {words}")
    if one.applied:
        yield from _compared(one)
    uncompared = sum(1 for _ in one.uncompared()) if one.applied else 0
    text = f"{counted(uncompared, 'rule')} looked at nothing in either set"
    yield informing("uncomparedRules", uncompared, text)
    yield Fact("resources", one.new.resource_count, _resources(one) if one.applied else "")
    yield Fact("unmatched", len(seen.unmatched), "")
    yield left_out_fact(len(frozenset((*one.old.left_out, *one.new.left_out))))
    yield warning_fact(remarks)


def _differing(key: str, number: int, text: str) -> Fact:
    return Fact(key, number, text, Verdict.DIFFERENT) if number else Fact(key, 0, "")


def _compared(one: Comparison) -> Iterator[Fact]:
    """Yield what is the same, or that there was nothing to compare."""
    seen = one.seen
    if not (seen.same or seen.total):
        yield Fact("nothingCompared", 1, "no rule of either set matched", Verdict.NOTHING)
        return
    text = f"{counted(seen.same, 'result')} the same in both" if seen.same else ""
    yield Fact("same", seen.same, text, Verdict.PASSED if seen.total else Verdict.SAME)
    text = f"{seen.reworded} of them in other words (--messages)"
    yield informing("reworded", seen.reworded, text)


def _resources(one: Comparison) -> str:
    number = len(one.seen.unmatched)
    unmatched = f", {number} matched by no rule of either set" if number else ""
    return f"{counted(one.new.resource_count, 'resource')}{unmatched}"
