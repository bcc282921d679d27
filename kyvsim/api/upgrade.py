"""`upgrade`: what a newer release of Kyverno changes for policies and manifests.

Everything is read once, and evaluated as both releases do. The cause of a difference is found by
evaluating again as the older release with one change of the newer one at a time.
"""

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import NamedTuple, TypeAlias

from kyvsim.api.apply import Compiled, compiled_for, explaining, responses_of
from kyvsim.api.inputs import ApplyInputs, ReadInputs, objects_of, read_inputs
from kyvsim.api.migrate import migrate, with_evidence
from kyvsim.api.simulate import SimulateInputs, simulate
from kyvsim.api.suite import Reading, SuiteRun, run_tests
from kyvsim.api.system import own_system
from kyvsim.engine.world import GivenObjects
from kyvsim.kubernetes.objects import text_field
from kyvsim.linting.release_changes import KnownChange, Subject, changes_between, with_change
from kyvsim.model.comparison import (
    Direction,
    ObjectDifference,
    ResourceDifference,
    SearchBudget,
    VerdictDifference,
)
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.migration import Migration
from kyvsim.model.policy import Policy, PolicyException
from kyvsim.model.release import PlannedRelease, Release
from kyvsim.model.result import EngineResponse
from kyvsim.model.simulation import Simulation
from kyvsim.model.source import Document, Location
from kyvsim.model.suite import ManifestOutcome, RowOutcome
from kyvsim.model.upgrade import (
    ChangedObject,
    ChangedResult,
    ChangedResults,
    ChangedRow,
    ChangedScenario,
    ConcernedPart,
    Impact,
    LegacyPolicy,
    RejectedPolicy,
    ReleaseChange,
    Removal,
    Upgrade,
    UpgradeNote,
)
from kyvsim.report.diagnostics import Explain, FailureExplanation
from kyvsim.report.diff import DifferenceCounts, compile_differences
from kyvsim.report.results import Row, title
from kyvsim.report.timeline_rows import differences as differences_at_end
from kyvsim.report.timeline_rows import event_title, shown_events, time_text
from kyvsim.schema.kinds import RULES_GROUP


class UpgradeInputs(NamedTuple):
    """The inputs of `kyvsim upgrade`."""

    shared: ApplyInputs
    """The policies and everything that they are evaluated on; the release does not matter."""
    old: Release
    new: Release
    """The newest supported release up to the target; may be `old`."""
    planned: PlannedRelease | None = None
    """The target, if it is not supported yet."""
    tests: tuple[str, ...] = ()
    scenarios: tuple[str, ...] = ()
    """Files of scenarios, to be run in both releases."""
    budget: SearchBudget | None = None
    """The limits of each comparison of a policy with its conversion; None for no comparisons."""


_Key: TypeAlias = tuple[object, ...]


def _unexplained(_response: EngineResponse, _row: Row) -> tuple[FailureExplanation, ...]:
    return ()


class _Evaluation(NamedTuple):
    """The inputs, and the objects that policies can look up."""

    inputs: ApplyInputs
    read: ReadInputs
    cluster: GivenObjects

    def compiled(self, release: Release) -> Compiled:
        return compiled_for(self.inputs._replace(release=release), self.read)

    def responses(
        self, compiled: Compiled, documents: tuple[Document, ...]
    ) -> Iterator[EngineResponse]:
        """Yield the responses to some of the resources; lookups find all of them."""
        some = self.read._replace(resources=documents)
        return responses_of(compiled.policies, some, self.inputs, self.cluster)

    def differences(
        self,
        old: Compiled,
        new: Compiled,
        documents: tuple[Document, ...],
        explain: tuple[Explain, Explain] = (_unexplained, _unexplained),
    ) -> Iterator[tuple[Document, ResourceDifference]]:
        """Yield the resources with differences, without those of policies that one rejects."""
        sides = (_accepted(old), _accepted(new))
        both = {policy.key for policy in sides[0]} & {policy.key for policy in sides[1]}
        compare = compile_differences(sides, DifferenceCounts(), explain, words=True)
        pairs = zip(self.responses(old, documents), self.responses(new, documents), strict=True)
        for document, (before, after) in zip(documents, pairs, strict=True):
            found = compare(before, after)
            verdicts = tuple(one for one in found.verdicts if one.policy in both)
            found = found._replace(verdicts=_paired(verdicts))
            if found.verdicts or found.objects:
                yield document, found


def _paired(verdicts: tuple[VerdictDifference, ...]) -> tuple[VerdictDifference, ...]:
    """Return differences with one for a policy whose only result has another rule name.

    A skipped policy in CEL, for example, has a result for its exception instead of its variant.
    """
    by_policy: dict[str, list[VerdictDifference]] = {}
    for one in verdicts:
        by_policy.setdefault(one.policy, []).append(one)
    found: list[VerdictDifference] = []
    for group in by_policy.values():
        gone, come = [one for one in group if not one.new], [one for one in group if not one.old]
        if len(group) == 2 and len(gone) == len(come) == 1:
            found.append(come[0]._replace(old=gone[0].old, missing=None))
        else:
            found += group
    return tuple(found)


def _accepted(compiled: Compiled) -> tuple[Policy, ...]:
    return tuple(one.policy for one in compiled.policies.policies)


def preview_upgrade(inputs: UpgradeInputs, stdin: bytes | None = None) -> Upgrade:
    """Return the changes of an upgrade; `stdin` is read for the path `-`."""
    now = inputs.shared.now or own_system().clock.now()
    # Exceptions beside the policies count: a cluster has them, too.
    shared = inputs.shared._replace(now=now, exceptions_within_policies=True)
    read = read_inputs(shared, stdin)
    given = objects_of((*read.resources, *read.targets, *read.shared_data))
    evaluation = _Evaluation(shared, read, GivenObjects(given, read.definitions))
    sides = (evaluation.compiled(inputs.old), evaluation.compiled(inputs.new))
    resources = () if read.unusable else read.resources
    explain = [explaining(shared._replace(release=one), read) for one in (inputs.old, inputs.new)]
    differing = (
        tuple(evaluation.differences(*sides, resources, (explain[0], explain[1])))
        if inputs.old != inputs.new
        else ()
    )
    changes = tuple(changes_between(inputs.old, inputs.new))
    causes = _Causes(evaluation, inputs, sides[0], changes)
    differing = causes.without_random(differing)
    rejected = tuple(causes.rejections(sides[0], sides[1]))
    results, objects = causes.explained(differing)
    old_rows, new_rows, test_diagnostics = _test_rows(inputs)
    scenarios, scenario_diagnostics = _changed_scenarios(inputs, changes)
    shown = _shown_causes(rejected, results, objects)
    notes = tuple(_notes(read, inputs, changes, shown))
    removal = (
        _removal(inputs.planned, shared, read, stdin, inputs.budget) if inputs.planned else None
    )
    both_refuse = [one for one in sides[0].refused if one in sides[1].refused]
    upgrade = Upgrade(
        old=inputs.old.name,
        new=inputs.new.name,
        paths=tuple(path for path in shared.policies if isinstance(path, str)),
        policies=len(read.policies),
        affected=0,
        resources=len(resources),
        rejected=rejected,
        accepted=tuple(causes.rejections(sides[1], sides[0])),
        results=results,
        objects=objects,
        rows=tuple(_changed_rows(old_rows, new_rows)),
        row_count=sum(len(one.rows) for one in new_rows),
        scenarios=scenarios,
        scenario_count=len(inputs.scenarios),
        notes=notes,
        removal=removal,
        diagnostics=tuple(
            dict.fromkeys(
                (*read.diagnostics, *both_refuse, *test_diagnostics, *scenario_diagnostics)
            )
        ),
        left_out=read.left_out,
        applied=not read.unusable,
    )
    return upgrade._replace(affected=_affected(upgrade, read.policies))


def subject_of(one: Subject) -> str:
    """Return kind and name of a policy or an exception."""
    kind = one.kind if isinstance(one, Policy) else "PolicyException"
    return f"{kind} {one.key}"


def _affected(upgrade: Upgrade, policies: Iterable[Policy]) -> int:
    """Return the number of policies with a difference that matters."""
    subjects = {one.subject for one in upgrade.rejected}
    for note in upgrade.notes:
        if note.change.impact not in {Impact.DIFFERENT, Impact.NONE}:
            subjects |= {one.subject for one in note.parts}
    if upgrade.removal:
        subjects |= {f"{one.kind} {one.key}" for one in upgrade.removal.policies}
    keys = {policy for one in upgrade.objects for policy in _authors(one)}
    for group in upgrade.results:
        if group.impact is not Impact.NONE:
            keys.add(group.results[0].verdict.policy)
    return sum(subject_of(one) in subjects or one.key in keys for one in policies)


def _authors(changed: ChangedObject) -> Iterator[str]:
    """Yield the policies that made an object in either release."""
    for side in (changed.difference.old, changed.difference.new):
        yield from (author.policy for author in side.authors) if side else ()


# Causes: the older release is evaluated again, with a single change of the newer one.


class _Causes:
    """Finds the change that causes a difference between two releases."""

    def __init__(
        self,
        evaluation: _Evaluation,
        inputs: UpgradeInputs,
        old: Compiled,
        changes: Iterable[KnownChange],
    ) -> None:
        self._evaluation = evaluation
        self._old = old
        self._inputs = inputs
        self._changes = [one.change for one in changes]

    @cached_property
    def _single(self) -> tuple[tuple[ReleaseChange, Compiled], ...]:
        """Each change, with the policies as compiled for the older release with this change."""
        old, new = self._inputs.old, self._inputs.new
        return tuple(
            (one, self._evaluation.compiled(with_change(old, new, one))) for one in self._changes
        )

    def without_random(
        self, differing: tuple[tuple[Document, ResourceDifference], ...]
    ) -> tuple[tuple[Document, ResourceDifference], ...]:
        """Return the differences without those between two runs of the same release.

        Expressions such as `random()` have another value each time.
        """
        if not differing:
            return ()
        again = self._keys(self._old, tuple(document for document, _ in differing))
        kept = []
        for document, found in differing:
            verdicts = tuple(one for one in found.verdicts if _key(document, one) not in again)
            objects = tuple(one for one in found.objects if _key(document, one) not in again)
            if verdicts or objects:
                kept.append((document, found._replace(verdicts=verdicts, objects=objects)))
        return tuple(kept)

    def explained(
        self, differing: tuple[tuple[Document, ResourceDifference], ...]
    ) -> tuple[tuple[ChangedResults, ...], tuple[ChangedObject, ...]]:
        """Return results in groups, and objects, with their causes.

        One resource of each group is evaluated again.
        """
        groups: dict[_Key, list[tuple[Document, ChangedResult]]] = {}
        for document, found in differing:
            for one in found.verdicts:
                place = (one.new and one.new.failed_place) or found.place
                result = ChangedResult(title(document.data), place, one)
                groups.setdefault(_group(one), []).append((document, result))
        firsts = [group[0][0] for group in groups.values()]
        with_objects = [document for document, found in differing if found.objects]
        causes = self._causes(tuple({id(one): one for one in (*firsts, *with_objects)}.values()))
        results = [
            ChangedResults(
                _impact(group[0][1].verdict),
                tuple(result for _, result in group),
                causes.get(_key(group[0][0], group[0][1].verdict)),
            )
            for group in groups.values()
        ]
        objects = [
            ChangedObject(title(document.data), found.place, one, causes.get(_key(document, one)))
            for document, found in differing
            for one in found.objects
        ]
        results.sort(key=lambda one: list(Impact).index(one.impact))
        return tuple(results), tuple(objects)

    def rejections(self, accepting: Compiled, rejecting: Compiled) -> Iterator[RejectedPolicy]:
        """Yield the policies that only one of the releases accepts."""
        kept = set(_accepted(rejecting))
        for policy in _accepted(accepting):
            if policy not in kept:
                start = policy.document.locate(())
                problems = tuple(
                    one
                    for one in rejecting.refused
                    if one not in accepting.refused and _is_within(one, policy, accepting)
                )
                place = next((one.location for one in problems if one.location), start)
                cause = self._rejecting(policy, is_newer=accepting is self._old)
                yield RejectedPolicy(policy.key, subject_of(policy), place, problems, cause)

    def _rejecting(self, policy: Policy, *, is_newer: bool) -> ReleaseChange | None:
        """Return the change for which the newer release rejects a policy, or accepts it."""
        causes = (
            one for one, sides in self._single if (policy in _accepted(sides)) is not is_newer
        )
        return next(causes, None)

    def _causes(self, documents: tuple[Document, ...]) -> Mapping[_Key, ReleaseChange]:
        """Return the causes of differences of some resources."""
        causes: dict[_Key, ReleaseChange] = {}
        for change, compiled in self._single if documents else ():
            for key in self._keys(compiled, documents):
                causes.setdefault(key, change)
        return causes

    def _keys(self, new: Compiled, documents: tuple[Document, ...]) -> frozenset[_Key]:
        found = self._evaluation.differences(self._old, new, documents)
        keys: set[_Key] = set()
        for document, difference in found:
            keys.update(_key(document, one) for one in difference.verdicts)
            keys.update(_key(document, one) for one in difference.objects)
        return frozenset(keys)


def _key(document: Document, difference: VerdictDifference | ObjectDifference) -> _Key:
    """Return what identifies a difference in several comparisons."""
    if isinstance(difference, VerdictDifference):
        return (id(document), *difference[:3], difference.results)
    return (id(document), difference.effect, difference.key)


def _group(verdict: VerdictDifference) -> _Key:
    return (*verdict[:3], verdict.results)


def _is_within(diagnostic: Diagnostic, policy: Policy, compiled: Compiled) -> bool:
    """Return whether a diagnostic is about a policy: the last one that begins before it."""
    place, start = diagnostic.location, policy.document.locate(())
    if place is None or place.file != start.file or place.line < start.line:
        return False
    starts = [one.document.locate(()) for one in _accepted(compiled)]
    return not any(one.file == start.file and start.line < one.line <= place.line for one in starts)


_IMPACTS: Mapping[Direction, Impact] = {
    Direction.STRICTER: Impact.STRICTER,
    Direction.LAXER: Impact.LESS_STRICT,
    Direction.NEITHER: Impact.NONE,
}


def _impact(verdict: VerdictDifference) -> Impact:
    old, new = verdict.results
    if new == "error" and old != "error":
        return Impact.BREAKS
    return _IMPACTS[verdict.direction]


# Notes: changes that concern policies, and that no difference shows.


def _shown_causes(
    rejected: Iterable[RejectedPolicy],
    results: Iterable[ChangedResults],
    objects: Iterable[ChangedObject],
) -> frozenset[tuple[str, ReleaseChange]]:
    """Return the policies and causes of differences that are not harmless."""
    found = {(one.policy, one.cause) for one in rejected if one.cause is not None}
    for group in results:
        if group.cause is not None and group.impact is not Impact.NONE:
            found.add((group.results[0].verdict.policy, group.cause))
    for obj in objects:
        if obj.cause is not None:
            found |= {(policy, obj.cause) for policy in _authors(obj)}
    return frozenset(found)


def _notes(
    read: ReadInputs,
    inputs: UpgradeInputs,
    changes: Iterable[KnownChange],
    shown: frozenset[tuple[str, ReleaseChange]],
) -> Iterator[UpgradeNote]:
    subjects: tuple[Subject, ...] = (
        *read.policies,
        *read.exceptions.rules,
        *read.exceptions.policies,
    )
    causes = {change for _, change in shown}
    for change, concerned in changes:
        parts = tuple(
            ConcernedPart(subject_of(one), place)
            for one in subjects
            if (one.key, change) not in shown and (isinstance(one, Policy) or change not in causes)
            for place in dict.fromkeys(concerned(one, inputs.old, inputs.new))
        )
        if parts:
            yield UpgradeNote(change, parts)


# Rows of test manifests.


def _test_rows(
    inputs: UpgradeInputs,
) -> tuple[tuple[ManifestOutcome, ...], tuple[ManifestOutcome, ...], tuple[Diagnostic, ...]]:
    """Return the outcomes of tests in both releases, and the diagnostics of the newer one."""
    if not inputs.tests:
        return (), (), ()
    old, new = (
        run_tests(
            SuiteRun(inputs.tests, options=Reading(walking=inputs.shared.walking, release=release))
        )
        for release in (inputs.old, inputs.new)
    )
    known = frozenset(one for outcome in old.manifests for one in outcome.diagnostics)
    in_both = (one for outcome in new.manifests for one in outcome.diagnostics if one in known)
    return old.manifests, new.manifests, (*new.diagnostics, *in_both)


def _changed_rows(
    old: Iterable[ManifestOutcome], new: Iterable[ManifestOutcome]
) -> Iterator[ChangedRow]:
    """Yield the rows with another outcome; a rule may have another name."""
    for before, after in zip(old, new, strict=True):
        rows: dict[tuple[str, str], list[RowOutcome]] = {}
        for row in before.rows:
            rows.setdefault((row.policy, row.resource), []).append(row)
        for row in after.rows:
            earlier = rows.get((row.policy, row.resource), [])
            was = next((one for one in earlier if one.rule == row.rule), None)
            was = was or next(iter(earlier), None)
            if was:
                earlier.remove(was)
            if was is None or was.result != row.result:
                yield _changed_row(after.file, row, was.result if was else "", row.result)
        for row in (one for left in rows.values() for one in left):
            yield _changed_row(after.file, row, row.result, "")


def _changed_row(file: str, row: RowOutcome, old: str, new: str) -> ChangedRow:
    reason = row.reason if new == "Fail" else ""
    return ChangedRow(file, row.policy, row.rule, row.resource, old, new, reason, row.location)


# Scenarios.


def _changed_scenarios(
    inputs: UpgradeInputs, changes: Iterable[KnownChange]
) -> tuple[tuple[ChangedScenario, ...], tuple[Diagnostic, ...]]:
    """Return the scenarios with another course, and the diagnostics of both releases."""
    if inputs.old == inputs.new:
        return (), ()
    changed: list[ChangedScenario] = []
    diagnostics: list[Diagnostic] = []
    for file in inputs.scenarios:
        run = SimulateInputs((file,), walking=inputs.shared.walking)
        old, new = (simulate(run._replace(release=one)) for one in (inputs.old, inputs.new))
        diagnostics += (one for one in new.diagnostics if one in old.diagnostics)
        if old.simulation is None or new.simulation is None:
            diagnostics += (*old.diagnostics, *new.diagnostics)
            continue
        found = _timeline_difference(old.simulation, new.simulation)
        if not any(found):
            continue
        best: tuple[int, ReleaseChange | None] = (0, None)
        for change, _ in changes:
            release = with_change(inputs.old, inputs.new, change)
            after = simulate(run._replace(release=release)).simulation
            if after is not None:
                own = _timeline_difference(old.simulation, after)
                number = sum(len({*mine} & {*all_}) for mine, all_ in zip(own, found, strict=True))
                best = max(best, (number, change), key=lambda one: one[0])
        unmet = [
            {one.text for one in simulation.expectations if not one.met}
            for simulation in (old.simulation, new.simulation)
        ]
        impact = Impact.BREAKS if unmet[1] - unmet[0] else Impact.DIFFERENT
        changed.append(ChangedScenario(Location(file), impact, *found, best[1]))
    return tuple(changed), tuple(diagnostics)


def _timeline_difference(
    old: Simulation, new: Simulation
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the shown events of only one of two runs, by time, and what differs at the end.

    The order of events does not matter.
    """
    rows: list[tuple[float, str, str]] = []
    counts: Counter[str] = Counter()
    for sign, simulation in (("-", old), ("+", new)):
        for event in shown_events(simulation, every=False):
            parts = (event.actor, event.action, event_title(event), event.outcome)
            text = " ".join(part for part in parts if part != "done")
            text += f": {event.full_message}" if event.full_message else ""
            counts[text] += 1 if sign == "-" else -1
            rows.append((event.time, sign, text))
    found: list[str] = []
    # Of equal events, the last ones are those that the other run does not have.
    for time, sign, text in sorted(rows, reverse=True):
        surplus = counts[text] if sign == "-" else -counts[text]
        if surplus > 0:
            counts[text] += -1 if sign == "-" else 1
            found.append(f"{sign} {time_text(time)} {text}")
    ending = (f"{one.word}: {one.text}" for one in differences_at_end(old, new))
    return tuple(reversed(found)), tuple(ending)


# What a planned release removes.


def _removal(
    planned: PlannedRelease,
    shared: ApplyInputs,
    read: ReadInputs,
    stdin: bytes | None,
    budget: SearchBudget | None,
) -> Removal:
    """Return the policies and exceptions of removed kinds, with their conversions."""
    given: tuple[Policy | PolicyException, ...] = (*read.policies, *read.exceptions.rules)
    legacy = [
        one
        for one in given
        if one.kind in planned.removed_kinds
        and text_field(one.document.data, "apiVersion").startswith(f"{RULES_GROUP}/")
    ]
    migration = Migration((), ())
    if legacy:
        paths = (path for path in (*shared.policies, *shared.exceptions) if isinstance(path, str))
        migration = migrate(dict.fromkeys(paths), stdin, shared.walking)
    if legacy and budget:
        resources = tuple(path for path in shared.resources if isinstance(path, str))
        migration = with_evidence(migration, resources, budget)
    converted = {
        (conversion.policy.document.file, conversion.policy.document.number): (conversion, evidence)
        for conversion, evidence in migration.pairs
    }
    return Removal(
        planned,
        tuple(
            LegacyPolicy(
                one.kind,
                one.key,
                one.document.locate(()),
                _inventory_folder(one.document),
                *converted.get((one.document.file, one.document.number), (None, None)),
            )
            for one in legacy
        ),
        is_checked=budget is not None,
    )


def _inventory_folder(document: Document) -> str:
    """Return the folder directly below the given one, such as a repository among several."""
    folder = os.path.dirname(document.file)
    below = os.path.relpath(folder, document.folder) if document.folder else os.curdir
    if below == os.curdir:
        return folder or os.curdir
    return os.path.join(document.folder, below.split(os.sep)[0])
