"""The differences between the results of two policy sets, as text, JSON, Markdown and HTML."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import zip_longest
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias

from kyvsim.kubernetes.objects import ObjectKey, Path, object_key
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
from kyvsim.report.diagnostics import (
    Explain,
    diagnostic_json,
    place_json,
    resource_place,
    rule_place,
)
from kyvsim.report.finding import finding_of
from kyvsim.report.object_text import (
    Marked,
    document_origin,
    hunks,
    json_entries,
    marked_yaml,
    to_json,
    whole_numbers,
    yaml_lines,
)
from kyvsim.report.page import ending_of, page
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
from kyvsim.report.run import (
    Run,
    ending_json,
    ending_line,
    error_fact,
    info_fact,
    left_out_fact,
    verdict_fact,
    warning_fact,
)
from kyvsim.report.style import (
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

_Rule: TypeAlias = tuple[str, Path]
"""The key of a policy and the path of a rule; autogen rules have the path of their source rule."""


class DifferenceCounts:
    """Counts that are updated while differences stream through."""

    def __init__(self) -> None:
        self.same = 0
        """Results with the same status in both sets."""
        self.reworded = 0
        """Results with the same status but a different message or path."""
        self.verdicts: dict[str, int] = {}
        """Different verdicts by direction."""
        self.by_rule: dict[tuple[str, str, str, str], int] = {}
        """Different verdicts by policy, rule, old and new status."""
        self.by_exception: dict[tuple[str, str, str], int] = {}
        """Results of the old set by exception that only applies there, and by old and new status.
        """
        self.objects = dict.fromkeys(ObjectEffect, 0)
        self.with_results: tuple[set[_Rule], set[_Rule]] = (set(), set())
        """Rules of the old and the new set with results."""
        self.unmatched: list[ObjectKey] = []
        """Resources without a result in either set."""

    def add(
        self, verdicts: VerdictDifference, pair: tuple[Row | None, Row | None], *, words: bool
    ) -> bool:
        """Count two verdicts, and return whether they differ."""
        old, new = (frozenset(row.result.exceptions if row else ()) for row in pair)
        for exception in sorted(old - new):
            exempted = exception, *verdicts.results
            self.by_exception[exempted] = self.by_exception.get(exempted, 0) + 1
        if verdicts.results[0] == verdicts.results[1]:
            sides = (verdicts.old, verdicts.new)
            texts = [(side.message, side.note, side.path) if side else () for side in sides]
            reworded = texts[0] != texts[1]
            if not (words and reworded):
                self.same += 1
                self.reworded += reworded
                return False
        self.verdicts[verdicts.direction] = self.verdicts.get(verdicts.direction, 0) + 1
        place = verdicts.policy, verdicts.rule, *verdicts.results
        self.by_rule[place] = self.by_rule.get(place, 0) + 1
        return True


def compile_differences(
    policies: tuple[Iterable[Policy], Iterable[Policy]],
    counts: DifferenceCounts,
    explain: tuple[Explain, Explain],
    *,
    words: bool,
) -> Callable[[EngineResponse, EngineResponse], ResourceDifference]:
    """Return a function that compares responses of two policy sets, and updates the counts.

    With `words`, equal results with different messages or paths are differences, too. `explain`
    explains the failures of each set that differ.
    """
    rows_of = compile_rows(audit_warn=False)
    by_key = tuple({policy.key: policy for policy in policy_set} for policy_set in policies)

    def rows(
        response: EngineResponse, with_results: set[_Rule]
    ) -> dict[tuple[str, str, str], list[Row]]:
        """Return the rows by policy, rule and phase."""
        by_rule: dict[tuple[str, str, str], list[Row]] = {}
        for row in rows_of(response):
            with_results.add((row.policy.key, row.result.rule.path))
            key = row.policy.key, row.result.rule.name, row.result.phase.value
            by_rule.setdefault(key, []).append(row)
        return by_rule

    def difference(old: EngineResponse, new: EngineResponse) -> ResourceDifference:
        before, after = rows(old, counts.with_results[0]), rows(new, counts.with_results[1])
        if not (before or after):
            counts.unmatched.append(object_key(new.trigger))
        verdicts = []
        for key in dict.fromkeys((*before, *after)):
            for pair in zip_longest(before.get(key, ()), after.get(key, ())):
                verdict = VerdictDifference(*key, _result(pair[0]), _result(pair[1]))
                if pair[0] is None or pair[1] is None:
                    verdict = verdict._replace(missing=_missing(pair, by_key))
                if counts.add(verdict, pair, words=words):
                    # Add the positions in the manifest that `apply` reports, too.
                    sides = [
                        side._replace(failed_place=finding_of(row, response, explain_side).location)
                        if side and row and row.status not in QUIET
                        else side
                        for side, row, response, explain_side in zip(
                            (verdict.old, verdict.new), pair, (old, new), explain, strict=True
                        )
                    ]
                    verdicts.append(verdict._replace(old=sides[0], new=sides[1]))
        objects = tuple(_object_differences(old, new))
        for changed in objects:
            counts.objects[changed.effect] += 1
        return ResourceDifference(new.trigger, resource_place(new), tuple(verdicts), objects)

    return difference


def _result(row: Row | None) -> ComparedResult | None:
    if row is None:
        return None
    result = row.result
    return ComparedResult(
        row.status, result.message, result.note, result.path, rule_place(row), None
    )


def _missing(
    pair: tuple[Row | None, Row | None], by_key: tuple[Mapping[str, Policy], ...]
) -> NoResultReason:
    """Return why one set has no result for a rule; autogen rules count as their source rule."""
    row, others = (pair[0], by_key[1]) if pair[0] else (pair[1], by_key[0])
    other = others.get(row.policy.key) if row else None
    if row is None or other is None:
        return NoResultReason.POLICY
    own = next((rule.name for rule in row.policy.rules if rule.path == row.result.rule.path), None)
    known = any(rule.name == own for rule in other.rules)
    return NoResultReason.MATCH if known else NoResultReason.RULE


def _object_differences(old: EngineResponse, new: EngineResponse) -> Iterator[ObjectDifference]:
    before, after = mutations(old), mutations(new)
    if (before or after) and not _is_same(old.object, new.object):
        sides = (_mutated(old, before), _mutated(new, after))
        yield ObjectDifference(ObjectEffect.MUTATED, object_key(new.trigger), *sides)
    effects = ((ObjectEffect.GENERATED, generated), (ObjectEffect.PATCHED, patched_targets))
    for effect, made in effects:
        olds, news = _by_key(made(old)), _by_key(made(new))
        for key in dict.fromkeys((*olds, *news)):
            for old_change, other in zip_longest(olds.get(key, ()), news.get(key, ())):
                if not (
                    old_change
                    and other
                    and _is_same(old_change.object, other.object)
                    and dict(old_change.settings) == dict(other.settings)
                ):
                    yield ObjectDifference(effect, key, _outcome(old_change), _outcome(other))


def _mutated(response: EngineResponse, answers: Iterable[PolicyResponse]) -> ComparedObject:
    authors = (
        Author(answer.policy.key, result.rule.name, answer.policy.document.locate(result.rule.path))
        for answer in answers
        for result in answer.results
        if result.status is RuleStatus.PASS
    )
    return ComparedObject(response.object, tuple(authors), {})


def _by_key(changes: Iterable[ChangedObject]) -> dict[ObjectKey, list[ChangedObject]]:
    by_key: dict[ObjectKey, list[ChangedObject]] = {}
    for change in changes:
        by_key.setdefault(object_key(change.object), []).append(change)
    return by_key


def _outcome(change: ChangedObject | None) -> ComparedObject | None:
    if change is None:
        return None
    paths = (rule.path for rule in change.policy.rules if rule.name == change.rule)
    place = change.policy.document.locate(next(paths, ()))
    author = Author(change.policy.key, change.rule, place)
    return ComparedObject(change.object, (author,), change.settings)


def _is_same(left: object, other: object) -> bool:
    """Return whether Kubernetes considers two objects equal: 1 equals 1.0, but not true."""
    return left is other or deep_equal(whole_numbers(left), whole_numbers(other))


class RunComparison(NamedTuple):
    """Two runs and their differences, read lazily."""

    names: tuple[str, str]
    """The paths of both sets."""
    old: Run
    new: Run
    resources: Iterable[ResourceDifference]
    """One for each resource, in input order, also without differences; usually read only once."""
    counts: DifferenceCounts
    """Complete when all resources are read."""

    @property
    def applied(self) -> bool:
        """Whether both sets could be applied; if not, there is nothing to compare."""
        return self.old.applied and self.new.applied

    def strictly(self) -> "RunComparison":
        """Return the comparison with every warning about input as an error."""
        return self._replace(old=self.old.strictly(), new=self.new.strictly())

    def all_diagnostics(self) -> tuple[Diagnostic, ...]:
        """Return the diagnostics about inputs without duplicates: both sets share most inputs."""
        return tuple(dict.fromkeys((*self.old.diagnostics, *self.new.diagnostics)))

    def final_diagnostics(self) -> tuple[Diagnostic, ...]:
        """Return the diagnostics that are only known when all resources are read."""
        return tuple(dict.fromkeys((*self.old.final_diagnostics(), *self.new.final_diagnostics())))

    def without(self) -> Iterator[tuple[str, dict[tuple[str, str], int]]]:
        """Yield the exceptions of the old set only, with counts of changed results."""
        for exception in dict.fromkeys(self.old.exceptions if self.applied else ()):
            if exception not in self.new.exceptions:
                counts = self.counts.by_exception.items()
                yield exception, {key[1:]: n for key, n in counts if key[0] == exception}

    def uncompared(self) -> Iterator[UncomparedRule]:
        """Yield the rules without a result in one of the sets, when all responses are read."""
        if not self.applied:
            return
        rules: dict[tuple[str, str], list[UncomparedRule]] = {}
        for index, run in enumerate((self.old, self.new)):
            for policy in run.policies:
                for rule in policy.rules:
                    has_result = (policy.key, rule.path) in self.counts.with_results[index]
                    place = None if has_result else policy.document.locate(rule.path)
                    both = UncomparedRule(policy.key, rule.name, None, None)
                    own = both._replace(old=place) if index == 0 else both._replace(new=place)
                    rules.setdefault((policy.key, rule.name), []).append(own)
        for both_sides in rules.values():
            if all(side.old or side.new for side in both_sides):
                old = next((side.old for side in both_sides if side.old), None)
                new = next((side.new for side in both_sides if side.new), None)
                yield both_sides[0]._replace(old=old, new=new)


def figures(comparison: RunComparison) -> dict[str, int]:
    """Return the numbers of differences by name."""
    objects = {effect.value: number for effect, number in comparison.counts.objects.items()}
    return {"verdicts": sum(comparison.counts.verdicts.values()), **objects}


def comparison_ending(comparison: RunComparison) -> RunEnding:
    """Return the result of a comparison, when all resources are read."""
    counts = comparison.counts
    diagnostics = (*comparison.all_diagnostics(), *comparison.final_diagnostics())
    directions = (
        (Direction.STRICTER, "stricter"),
        (Direction.LAXER, "less strict"),
        (Direction.NEITHER, "equally strict"),
    )
    verdicts = sum(counts.verdicts.values())
    listed = ", ".join(
        f"{counts.verdicts[direction]} {text}"
        for direction, text in directions
        if counts.verdicts.get(direction)
    )
    shown = "" if comparison.applied else "nothing was compared"
    text = f"{counted(verdicts, 'result')} changed ({listed})"
    facts = [
        error_fact(diagnostics),
        Fact("notApplied", int(not comparison.applied), shown),
        verdict_fact("verdicts", verdicts, text, RunVerdict.DIFFERENT),
    ]
    for effect, noun, words in (
        (ObjectEffect.MUTATED, "resource", "mutated differently"),
        (ObjectEffect.GENERATED, "object", "generated differently"),
        (ObjectEffect.PATCHED, "existing object", "patched differently"),
    ):
        text = f"{counted(counts.objects[effect], noun)} {words}"
        facts.append(verdict_fact(effect.value, counts.objects[effect], text, RunVerdict.DIFFERENT))
    differs = bool(verdicts or any(counts.objects.values()))
    if comparison.applied and (counts.same or differs):
        text = f"{counted(counts.same, 'result')} unchanged" if counts.same else ""
        same = Fact("same", counts.same, text, RunVerdict.PASSED if differs else RunVerdict.SAME)
        text = f"{counts.reworded} of them with a different message (--messages)"
        facts += [same, info_fact("reworded", counts.reworded, text)]
    elif comparison.applied:
        text = "no rule of either set matched"
        facts.append(Fact("nothingCompared", 1, text, RunVerdict.NOTHING))
    uncompared = sum(1 for _ in comparison.uncompared())
    text = f"{counted(uncompared, 'rule')} not compared"
    facts.append(info_fact("uncomparedRules", uncompared, text))
    unmatched = f" ({len(counts.unmatched)} unmatched)" if counts.unmatched else ""
    resource_count = comparison.new.resource_count
    text = f"{counted(resource_count, 'resource')}{unmatched}" if comparison.applied else ""
    return RunEnding(
        (
            *facts,
            Fact("resources", resource_count, text),
            Fact("unmatched", len(counts.unmatched), ""),
            left_out_fact(len(frozenset((*comparison.old.left_out, *comparison.new.left_out)))),
            warning_fact(diagnostics),
        ),
        release=comparison.new.release,
    )


def counts_line(comparison: RunComparison) -> str:
    """Return the counts as one line."""
    return ", ".join(f"{name}: {number}" for name, number in figures(comparison).items())


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


def heading(comparison: RunComparison) -> str:
    """Return a sentence with the size of both policy sets and the number of resources."""
    if not comparison.applied:
        return "Nothing was compared: a file that all results depend on was rejected"
    old, new = (counted(run.rule_count, "rule") for run in (comparison.old, comparison.new))
    over = counted(comparison.new.resource_count, "resource")
    first, second = comparison.names
    shown = f"Comparing {old} of {first} with {new} of {second} over {over}"
    if any(entry.severity is Severity.ERROR for entry in comparison.all_diagnostics()):
        shown += "; some input could not be used, so policies or rules may be missing"
    return safe_line(shown)


def arrow(results: tuple[str, str]) -> str:
    """Return `pass → fail`; `none` represents no result."""
    return " → ".join(results)


def rule_name(policy: str, rule: str) -> str:
    """Return `policy / rule`, or only the policy if its rule has no name."""
    return safe_line(rule_title(policy, rule))


def is_listed(verdict: VerdictDifference, *, detailed: bool) -> bool:
    """Return whether a difference is listed individually; the others are counted by rule."""
    return detailed or not FAULTS.isdisjoint(verdict.results)


def verdict_lines(verdict: VerdictDifference) -> Iterator[str]:
    """Yield the lines of a difference: messages, positions of its rule and in the manifest."""
    old, new = (
        "\n".join(filter(None, (side.message, side.note))) if side and side.result in FAULTS else ""
        for side in (verdict.old, verdict.new)
    )
    if new and old and new != old:
        yield f"old: {old}"
        yield f"new: {new}"
    elif new or old:
        yield new or old
    for word, side in (("old", verdict.old), ("new", verdict.new)):
        yield f"{word} {side.rule_place if side else _MISSING[verdict.missing]}"
    sides = (verdict.old, verdict.new)
    places = {side.failed_place for side in sides if side and side.failed_place}
    yield from (f"at  {place}" for place in sorted(places))


def object_title(difference: ObjectDifference) -> str:
    """Return how an object differs, such as `generated ConfigMap shop/web only by old`."""
    path = "/".join(filter(None, (difference.key.namespace, difference.key.name)))
    named = "" if difference.effect is ObjectEffect.MUTATED else f" {difference.key.kind} {path}"
    both = (("old", difference.old), ("new", difference.new))
    sides = [name for name, side in both if side and side.authors]
    how = f"only by {sides[0]}" if len(sides) == 1 else "differently"
    return safe_line(f"{difference.effect.name.lower()}{named} {how}")


def author_lines(difference: ObjectDifference) -> Iterator[str]:
    """Yield the rules that changed an object in each set, with positions and settings."""
    for word, side in (("old", difference.old), ("new", difference.new)):
        for author in side.authors if side else ():
            rule = f", rule {author.rule}" if author.rule else ""
            yield safe_line(f"{word} by policy {author.policy}{rule} ({author.place})")
    old, new = (dict(side.settings) if side else None for side in (difference.old, difference.new))
    if old is not None and new is not None and old != new:
        for name in dict.fromkeys((*old, *new)):
            if old.get(name) != new.get(name):
                before, after = (to_json(settings.get(name)) for settings in (old, new))
                yield safe_line(f"{name}: {before} → {after}")


def exception_lines(comparison: RunComparison) -> Iterator[str]:
    """Yield a line for each exception that only the old set has."""
    for exception, changes in comparison.without():
        shown = ", ".join(f"{number} {arrow(statuses)}" for statuses, number in changes.items())
        yield safe_line(f"{exception}: {shown or 'no result changed'}")


def uncompared_lines(comparison: RunComparison) -> Iterator[str]:
    """Yield a line for each rule that was not compared, and one for the unmatched resources."""
    for rule in comparison.uncompared():
        places = (("old", rule.old), ("new", rule.new))
        shown = ", ".join(f"{word} {place}" for word, place in places if place)
        yield f"{rule_name(rule.policy, rule.rule)} ({safe_line(shown)})"
    if comparison.counts.unmatched and comparison.applied:
        yield safe_line(f"resources: {listed(map(key_title, comparison.counts.unmatched))}")


_STYLES = MappingProxyType(
    {Direction.STRICTER: "fail", Direction.LAXER: "pass", Direction.NEITHER: "dim"}
)
_INDENT = " " * 9


def render_text(comparison: RunComparison, options: RenderOptions) -> Iterator[str]:
    """Yield the view, one resource at a time; the last line shows the counts."""
    paint = painter(colours=options.colours)
    yield f"{paint('title', heading(comparison))}\n\n"
    for resource in comparison.resources:
        detailed = options.detailed
        verdicts = [entry for entry in resource.verdicts if is_listed(entry, detailed=detailed)]
        if not (verdicts or resource.objects):
            continue
        place = str(resource.place) if resource.place else ""
        yield resource_heading(title(resource.resource), place, paint)
        for verdict in verdicts:
            change = paint(_STYLES[verdict.direction], arrow(verdict.results))
            yield f"  {change}  {rule_name(verdict.policy, verdict.rule)}\n"
            for line in verdict_lines(verdict):
                yield f"{_INDENT}{indented(line, _INDENT)}\n"
        for obj in resource.objects:
            yield f"  {paint('title', object_title(obj))}\n"
            for line in author_lines(obj):
                yield f"{_INDENT}{indented(line, _INDENT)}\n"
            yield from guttered(_object_lines(obj), paint)
        yield "\n"
    for head, items in _lists(comparison):
        text = "".join(f"  {item}\n" for item in items)
        yield f"{paint('title', head)}\n{text}\n" if text else ""
    yield f"{counts_line(comparison)}\n"


def _object_lines(difference: ObjectDifference) -> list[Marked]:
    """Return the lines that differ; for an object of one set, all lines."""
    old, new = difference.old, difference.new
    if old and new:
        return [*hunks(marked_yaml(old.object, new.object))]
    lines = [("-", line) for line in (yaml_lines(old.object) if old else ())]
    return lines + [("+", line) for line in (yaml_lines(new.object) if new else ())]


def _lists(comparison: RunComparison) -> Iterator[tuple[str, list[str]]]:
    """Yield counts by rule, exceptions of one set, and rules that were not compared."""
    by_rule = comparison.counts.by_rule
    width = max((len(arrow((old, new))) for _, _, old, new in by_rule), default=0)
    yield (
        "By rule",
        [
            f"{number:>5}  {arrow((old, new)):<{width}}  {rule_name(policy, rule)}"
            for (policy, rule, old, new), number in by_rule.items()
        ],
    )
    yield WITHOUT, [*exception_lines(comparison)]
    yield NOT_COMPARED, [*uncompared_lines(comparison)]


_PAGE_STYLES = MappingProxyType(
    {Direction.STRICTER: "bad", Direction.LAXER: "good", Direction.NEITHER: "warn"}
)
_MOST_GROUPS: Final = 1000
"""Number of resources with differences on a page; the lists count all of them."""


def render_html(comparison: RunComparison, options: RenderOptions) -> Iterator[str]:
    """Yield the page: the first resources with differences, then the lists."""
    groups: list[dict[str, object]] = []
    further = 0
    for resource in comparison.resources:
        entries: list[dict[str, object]] = [
            {
                "status": arrow(verdict.results),
                "style": _PAGE_STYLES[verdict.direction],
                "policy": verdict.policy,
                "rule": rule_name(verdict.policy, verdict.rule),
                "texts": [*verdict_lines(verdict)],
            }
            for verdict in resource.verdicts
            if is_listed(verdict, detailed=options.detailed)
        ]
        entries += [
            {
                "status": "object",
                "style": "info",
                "policy": "",
                "rule": object_title(obj),
                "texts": [*author_lines(obj)],
                "lines": _object_lines(obj),
            }
            for obj in resource.objects
        ]
        if entries and len(groups) < _MOST_GROUPS:
            group = {"title": title(resource.resource), "place": resource.place}
            groups.append(group | {"entries": entries})
        else:
            further += bool(entries)
    more = [f"{counted(further, 'resource')} (--output-format json)"] if further else []
    ending = comparison_ending(comparison)  # when all resources have been read
    yield from page(
        "groups.html",
        command="kyvsim diff",
        header=heading(comparison),
        ending=ending_of(ending),
        diagnostics=(*comparison.all_diagnostics(), *comparison.final_diagnostics()),
        subject="Differences",
        filters=(("status", "change"), ("policy", "policy"), ("rule", "rule")),
        groups=groups,
        nothing="There are no differences.",
        lists=(
            ("Not on this page", more),
            *_lists(comparison),
            ("Counts", [counts_line(comparison)]),
        ),
    )


def render_json(comparison: RunComparison, _: RenderOptions) -> Iterator[str]:
    """Yield the document, described by docs/output.schema.json, one resource at a time."""
    old, new = map(to_json, comparison.names)
    yield f'{{"old": {old}, "new": {new}, "resources": ['
    differing = (each for each in comparison.resources if each.verdicts or each.objects)
    yield from json_entries(to_json(_resource_json(resource)) for resource in differing)
    rest = {
        "exceptions": [
            {
                "exception": exception,
                "changes": [
                    {"old": old, "new": new, "count": number}
                    for (old, new), number in changes.items()
                ],
            }
            for exception, changes in comparison.without()
        ],
        "notCompared": {
            "rules": [
                {
                    "policy": rule.policy,
                    "rule": rule.rule,
                    "old": place_json(rule.old),
                    "new": place_json(rule.new),
                }
                for rule in comparison.uncompared()
            ],
            "resources": [identity_of(key) for key in comparison.counts.unmatched],
        },
        "diagnostics": [
            diagnostic_json(entry)
            for entry in (*comparison.all_diagnostics(), *comparison.final_diagnostics())
        ],
        "ending": ending_json(comparison_ending(comparison)),
        "summary": figures(comparison),
        "kyvsim": document_origin("diff"),
    }
    yield "]"
    yield from (f',\n"{name}": {to_json(value)}' for name, value in rest.items())
    yield "}\n"


def _resource_json(resource: ResourceDifference) -> dict[str, object]:
    shown: dict[str, object] = {
        "resource": identity(resource.resource),
        "location": place_json(resource.place),
        "verdicts": [
            {
                "policy": verdict.policy,
                "rule": verdict.rule,
                "type": verdict.type,
                "direction": verdict.direction.value,
                "old": _result_json(verdict.old),
                "new": _result_json(verdict.new),
                "missing": verdict.missing.value if verdict.missing else None,
            }
            for verdict in resource.verdicts
        ],
    }
    for effect in ObjectEffect:
        shown[effect.value] = [
            {
                "resource": identity_of(difference.key),
                "old": _outcome_json(difference.old),
                "new": _outcome_json(difference.new),
            }
            for difference in resource.objects
            if difference.effect is effect
        ]
    return shown


def _result_json(side: ComparedResult | None) -> dict[str, object] | None:
    return side and {
        "result": side.result,
        "message": side.message,
        "note": side.note,
        "path": side.path,
        "ruleLocation": place_json(side.rule_place),
        "location": place_json(side.failed_place),
    }


def _outcome_json(side: ComparedObject | None) -> dict[str, object] | None:
    return side and {
        "by": [
            {"policy": author.policy, "rule": author.rule, "ruleLocation": place_json(author.place)}
            for author in side.authors
        ],
        **side.settings,
        "object": side.object,
    }


def render_markdown(comparison: RunComparison, options: RenderOptions) -> Iterator[str]:
    """Yield a table of the differences, then counts by rule, and what was not compared."""
    yield f"**{markdown_text(heading(comparison))}**\n\n"
    rows = _markdown_rows(comparison, detailed=options.detailed)
    first = next(rows, "")
    if first:
        yield table_line(("change", "object", "rule", "details")) + table_line(("---",) * 4)
        yield first
        yield from rows
        yield "\n"
    by_rule = (
        f"{number}: {arrow((old, new))} {rule_name(policy, rule)}"
        for (policy, rule, old, new), number in comparison.counts.by_rule.items()
    )
    diagnostics = (*comparison.all_diagnostics(), *comparison.final_diagnostics())
    for head, items in (
        ("By rule", by_rule),
        (WITHOUT, exception_lines(comparison)),
        (NOT_COMPARED, uncompared_lines(comparison)),
        ("Input", map(str, diagnostics)),
    ):
        lines = "".join(f"- {markdown_text(item)}\n" for item in items)
        yield f"{head}:\n\n{lines}\n" if lines else ""
    ending = ending_line(comparison_ending(comparison))
    yield f"{counts_line(comparison)}\n\n{markdown_text(ending)}\n"


def _markdown_rows(comparison: RunComparison, *, detailed: bool) -> Iterator[str]:
    for resource in comparison.resources:
        place = markdown_text(str(resource.place)) if resource.place else ""
        name = "<br>".join(filter(None, (markdown_text(title(resource.resource)), place)))
        for verdict in resource.verdicts:
            if is_listed(verdict, detailed=detailed):
                details = "<br>".join(map(markdown_lines, verdict_lines(verdict)))
                rule = markdown_text(rule_name(verdict.policy, verdict.rule))
                yield table_line((markdown_text(arrow(verdict.results)), name, rule, details))
        for obj in resource.objects:
            authors = "<br>".join(map(markdown_text, author_lines(obj)))
            yield table_line((markdown_text(object_title(obj)), name, "", authors))
