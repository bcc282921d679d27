"""How the results of two policy sets differ, how that ended, and both as text, JSON, Markdown."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import zip_longest
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias

from kyvsim.kubernetes.objects import Json, ObjectKey, Path, object_key
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
from kyvsim.model.diagnostic import Diagnostic, Severity, listed
from kyvsim.model.policy import Policy
from kyvsim.model.result import (
    EngineResponse,
    Fact,
    PolicyResponse,
    RuleStatus,
    RunEnding,
    RunVerdict,
)
from kyvsim.report.diagnostics import diagnostic_json, place_json, resource_place, rule_place
from kyvsim.report.ending import (
    ending_json,
    ending_line,
    error_fact,
    informing,
    left_out_fact,
    warning_fact,
    weighing,
)
from kyvsim.report.explanations import Explain
from kyvsim.report.finding import finding_of
from kyvsim.report.object_text import (
    hunks,
    json_entries,
    marked_yaml,
    to_json,
    whole_numbers,
    yaml_lines,
)
from kyvsim.report.results import (
    QUIET,
    ChangedObject,
    Row,
    compile_rows,
    generated,
    identity,
    identity_of,
    key_title,
    mutations,
    patched_targets,
    rule_title,
    title,
)
from kyvsim.report.run import Run
from kyvsim.report.style import (
    Paint,
    RenderOptions,
    counted,
    indented,
    markdown_lines,
    markdown_text,
    painter,
    safe_line,
    table_line,
)
from kyvsim.report.text_blocks import guttered, resource_heading

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


# Wording of differences between policy sets, shared by all text formats.


NOT_COMPARED: Final = "Not compared, because no rule of either set matched"
WITHOUT: Final = "Exceptions that apply to the old set only, and the results without them"
FAULTS: Final = frozenset({"fail", "error", "warn"})
_MISSING = MappingProxyType(
    {
        NoResultReason.POLICY: "has no such policy",
        NoResultReason.RULE: "has no such rule",
        NoResultReason.MATCH: "does not match",
        None: "",
    }
)
_WORDS = MappingProxyType(
    {
        ObjectEffect.MUTATED: "mutated",
        ObjectEffect.GENERATED: "generated",
        ObjectEffect.PATCHED: "patched",
    }
)


def heading(one: RunComparison) -> str:
    """Return the line that says what is compared."""
    if not one.applied:
        return "Nothing was compared: a file that all results depend on was rejected"
    old, new = (counted(run.rule_count, "rule") for run in (one.old, one.new))
    over = counted(one.new.resource_count, "resource")
    shown = f"Comparing {old} of {one.names[0]} with {new} of {one.names[1]} over {over}"
    if any(entry.severity is Severity.ERROR for entry in one.all_diagnostics()):
        shown += "; some input could not be used, so policies or rules may be missing"
    return safe_line(shown)


def arrow(results: tuple[str, str]) -> str:
    """Return `pass → fail`; `none` represents no result."""
    return " → ".join(results)


def rule_name(policy: str, rule: str) -> str:
    """Return `policy / rule`, or the policy alone where its rule has no name."""
    return safe_line(rule_title(policy, rule))


def is_listed(one: VerdictDifference, *, detailed: bool) -> bool:
    """Return whether a difference is listed by itself; the others are counted by rule."""
    return detailed or not FAULTS.isdisjoint(one.results)


def verdict_lines(one: VerdictDifference) -> Iterator[str]:
    """Yield the lines of a difference: messages, places of its rule and in the manifest."""
    old, new = (
        "\n".join(filter(None, (side.message, side.note))) if side and side.result in FAULTS else ""
        for side in (one.old, one.new)
    )
    if new and old and new != old:
        yield f"old: {old}"
        yield f"new: {new}"
    elif new or old:
        yield new or old
    for word, side in (("old", one.old), ("new", one.new)):
        yield f"{word} {side.rule_place if side else _MISSING[one.missing]}"
    found = {side.failed_place for side in (one.old, one.new) if side and side.failed_place}
    yield from (f"at  {place}" for place in sorted(found))


def object_title(one: ObjectDifference) -> str:
    """Return what became of an object, such as `generated ConfigMap shop/web only by old`."""
    path = "/".join(filter(None, (one.key.namespace, one.key.name)))
    named = "" if one.effect is ObjectEffect.MUTATED else f" {one.key.kind} {path}"
    sides = [name for name, side in (("old", one.old), ("new", one.new)) if side and side.authors]
    how = f"only by {sides[0]}" if len(sides) == 1 else "differently"
    return safe_line(f"{_WORDS[one.effect]}{named} {how}")


def author_lines(one: ObjectDifference) -> Iterator[str]:
    """Yield who made an object so in each set, with the place of the rule, and settings."""
    for word, side in (("old", one.old), ("new", one.new)):
        for author in side.authors if side else ():
            rule = f", rule {author.rule}" if author.rule else ""
            yield safe_line(f"{word} by policy {author.policy}{rule} ({author.place})")
    old, new = (dict(side.settings) if side else None for side in (one.old, one.new))
    if old is not None and new is not None and old != new:
        for name in dict.fromkeys((*old, *new)):
            if old.get(name) != new.get(name):
                before, after = (to_json(one.get(name)) for one in (old, new))
                yield safe_line(f"{name}: {before} → {after}")


def exception_lines(one: RunComparison) -> Iterator[str]:
    """Yield a line for each exception that only the old set has."""
    for exception, changes in one.without() if one.applied else ():
        shown = ", ".join(f"{number} {arrow(way)}" for way, number in changes.items())
        yield safe_line(f"{exception}: {shown or 'no result changed'}")


def uncompared_lines(one: RunComparison) -> Iterator[str]:
    """Yield what neither set evaluated, a line for each rule and one for all resources."""
    if not one.applied:
        return
    for rule in one.uncompared():
        places = (("old", rule.old), ("new", rule.new))
        shown = ", ".join(f"{word} {place}" for word, place in places if place)
        yield f"{rule_name(rule.policy, rule.rule)} ({safe_line(shown)})"
    if one.seen.unmatched:
        yield safe_line(f"resources: {listed(map(key_title, one.seen.unmatched))}")


# The results that differ between two policy sets, as text: by resource, then by rule.


_LOOKS = MappingProxyType(
    {Direction.STRICTER: "fail", Direction.LAXER: "pass", Direction.NEITHER: "dim"}
)
_INDENT = " " * 9


def render_text(one: RunComparison, options: RenderOptions) -> Iterator[str]:
    """Yield the view a resource at a time; the last line counts."""
    paint = painter(colours=options.colours)
    yield f"{paint('title', heading(one))}\n\n"
    for found in one.resources:
        verdicts = [each for each in found.verdicts if is_listed(each, detailed=options.detailed)]
        if not (verdicts or found.objects):
            continue
        place = str(found.place) if found.place else ""
        yield resource_heading(title(found.resource), place, paint)
        for verdict in verdicts:
            change = paint(_LOOKS[verdict.direction], arrow(verdict.results))
            yield f"  {change}  {rule_name(verdict.policy, verdict.rule)}\n"
            for text in verdict_lines(verdict):
                yield f"{_INDENT}{indented(text, _INDENT)}\n"
        for obj in found.objects:
            yield f"  {paint('title', object_title(obj))}\n"
            for text in author_lines(obj):
                yield f"{_INDENT}{indented(text, _INDENT)}\n"
            old, new = obj.old, obj.new
            if old and new:
                lines = [*hunks(marked_yaml(old.object, new.object))]
            else:
                lines = [("-", line) for line in (yaml_lines(old.object) if old else ())]
                lines += [("+", line) for line in (yaml_lines(new.object) if new else ())]
            yield from guttered(lines, paint)
        yield "\n"
    yield from _by_rule(one, paint)
    yield from _list(WITHOUT, exception_lines(one), paint)
    yield from _list(NOT_COMPARED, uncompared_lines(one), paint)
    yield f"{counts_line(one)}\n"


def _by_rule(one: RunComparison, paint: Paint) -> Iterator[str]:
    """Yield how often each rule says something else."""
    found = one.seen.by_rule
    if not found:
        return
    yield f"{paint('title', 'By rule')}\n"
    width = max(len(arrow((old, new))) for _, _, old, new in found)
    for (policy, rule, old, new), number in found.items():
        yield f"  {number:>5}  {arrow((old, new)):<{width}}  {rule_name(policy, rule)}\n"
    yield "\n"


def _list(head: str, items: Iterable[str], paint: Paint) -> Iterator[str]:
    lines = "".join(f"  {item}\n" for item in items)
    yield f"{paint('title', head)}\n{lines}\n" if lines else ""


# What two sets of policies say differently, as one JSON document.
#
# `resources` has those with a difference. Sides are null where a set says or makes nothing. What
# the document holds, says docs/diff.schema.json.


def render_json(one: RunComparison, options: RenderOptions) -> Iterator[str]:
    """Yield the document a resource at a time."""
    del options  # a document for programs has no such options
    yield f'{{"old": {to_json(one.names[0])}, "new": {to_json(one.names[1])}, "resources": ['
    differing = (found for found in one.resources if found.verdicts or found.objects)
    yield from json_entries(to_json(_resource_json(found)) for found in differing)
    rest = {
        "exceptions": [
            {
                "exception": exception,
                "changes": [
                    {"old": old, "new": new, "count": number}
                    for (old, new), number in changes.items()
                ],
            }
            for exception, changes in (one.without() if one.applied else ())
        ],
        "notCompared": {
            "rules": [
                {
                    "policy": rule.policy,
                    "rule": rule.rule,
                    "old": place_json(rule.old),
                    "new": place_json(rule.new),
                }
                for rule in (one.uncompared() if one.applied else ())
            ],
            "resources": [identity_of(key) for key in one.seen.unmatched],
        },
        "diagnostics": [
            diagnostic_json(entry) for entry in (*one.all_diagnostics(), *one.final_diagnostics())
        ],
        "ending": ending_json(comparison_ending(one)),
        "summary": figures(one),
    }
    yield "]"
    yield from (f',\n"{name}": {to_json(value)}' for name, value in rest.items())
    yield "}\n"


def _resource_json(found: ResourceDifference) -> Json:
    shown: dict[str, Json] = {
        "resource": identity(found.resource),
        "location": place_json(found.place),
        "verdicts": [
            {
                "policy": one.policy,
                "rule": one.rule,
                "type": one.type,
                "direction": one.direction.value,
                "old": _result_json(one.old),
                "new": _result_json(one.new),
                "missing": one.missing.value if one.missing else None,
            }
            for one in found.verdicts
        ],
    }
    for effect in ObjectEffect:
        shown[effect.value] = [
            {
                "resource": identity_of(one.key),
                "old": _outcome_json(one.old),
                "new": _outcome_json(one.new),
            }
            for one in found.objects
            if one.effect is effect
        ]
    return shown


def _result_json(side: ComparedResult | None) -> Json:
    if side is None:
        return None
    return {
        "result": side.result,
        "message": side.message,
        "note": side.note,
        "path": side.path,
        "ruleLocation": place_json(side.rule_place),
        "location": place_json(side.failed_place),
    }


def _outcome_json(side: ComparedObject | None) -> Json:
    if side is None:
        return None
    return {
        "by": [
            {"policy": one.policy, "rule": one.rule, "ruleLocation": place_json(one.place)}
            for one in side.authors
        ],
        **side.settings,
        "object": side.object,
    }


# What two sets of policies say differently, in Markdown, for a comment on a change of policies.

_COLUMNS = ("change", "object", "rule", "details")


def render_markdown(one: RunComparison, options: RenderOptions) -> Iterator[str]:
    """Yield a table of what differs, then numbers by rule, and what was not compared."""
    yield f"**{markdown_text(heading(one))}**\n\n"
    rows = _markdown_rows(one, detailed=options.detailed)
    first = next(rows, "")
    if first:
        yield table_line(_COLUMNS) + table_line(("---",) * len(_COLUMNS))
        yield first
        yield from rows
        yield "\n"
    by_rule = (
        f"{number}: {arrow((old, new))} {rule_name(policy, rule)}"
        for (policy, rule, old, new), number in one.seen.by_rule.items()
    )
    yield from _markdown_list("By rule", by_rule)
    yield from _markdown_list(WITHOUT, exception_lines(one))
    yield from _markdown_list(NOT_COMPARED, uncompared_lines(one))
    yield from _markdown_list("Input", map(str, (*one.all_diagnostics(), *one.final_diagnostics())))
    yield f"{counts_line(one)}\n\n{markdown_text(ending_line(comparison_ending(one)))}\n"


def _markdown_rows(comparison: RunComparison, *, detailed: bool) -> Iterator[str]:
    for found in comparison.resources:
        place = markdown_text(str(found.place)) if found.place else ""
        name = "<br>".join(filter(None, (markdown_text(title(found.resource)), place)))
        for one in found.verdicts:
            if is_listed(one, detailed=detailed):
                said = "<br>".join(map(markdown_lines, verdict_lines(one)))
                rule = markdown_text(rule_name(one.policy, one.rule))
                yield table_line((markdown_text(arrow(one.results)), name, rule, said))
        for obj in found.objects:
            authors = "<br>".join(map(markdown_text, author_lines(obj)))
            yield table_line((markdown_text(object_title(obj)), name, "", authors))


def _markdown_list(head: str, items: Iterable[str]) -> Iterator[str]:
    lines = "".join(f"- {markdown_text(item)}\n" for item in items)
    yield f"{head}:\n\n{lines}\n" if lines else ""
