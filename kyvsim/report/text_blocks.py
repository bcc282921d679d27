"""Blocks of text output: headings, verdicts, references, objects, and what is not idempotent."""

from collections.abc import Callable, Iterable, Iterator
from types import MappingProxyType

from kyvsim.kubernetes.objects import Json
from kyvsim.model.result import EngineResponse, PolicyResponse, RuleStatus
from kyvsim.model.source import Location
from kyvsim.report.object_text import Marked, hunks, marked_yaml, yaml_lines
from kyvsim.report.related_objects import PendingReference, PlannedDeletions
from kyvsim.report.results import (
    Row,
    cached_by_rule,
    generated,
    identity,
    mutations,
    passed_rules,
    patched_targets,
    rule_title,
    short_title,
    silent_rows,
    title,
)
from kyvsim.report.run import Run
from kyvsim.report.style import (
    MARK_STYLES,
    Paint,
    RenderOptions,
    counted,
    indented,
    safe_line,
    safe_text,
)

OPTIONAL = "optional, and no input creates it"
UNRESOLVED = "warning: no input creates it"
"""The text for an injected reference that leads nowhere."""
_INDENT = " " * 9


def header(run: Run) -> str:
    """Return a sentence with the number of rules, resources and exceptions."""
    if not run.applied:
        return "Nothing was evaluated: a file that all results depend on was rejected"
    exceptions = f" with {counted(run.exception_count, 'exception')}" if run.exception_count else ""
    rules = counted(run.rule_count, "policy rule")
    return f"Applying {rules} to {counted(run.resource_count, 'resource')}{exceptions}"


def resource_block(response: EngineResponse, paint: Paint) -> str:
    """Return the heading for a resource."""
    document = response.document
    place = str(document.locate(())) if document else ""
    return resource_heading(title(response.trigger), place, paint)


def resource_heading(name: str, place: str, paint: Paint) -> str:
    """Return the heading with a name and a place; "" is an unknown place."""
    where = f" {paint('dim', f'({safe_line(place)})')}" if place else ""
    return f"{paint('title', safe_line(name))}{where}\n"


def verdict_block(
    paint: Paint, at: Callable[[Row, EngineResponse], Location | None]
) -> Callable[[EngineResponse, Iterable[Row]], str]:
    """Return a function that renders rows; `at` returns the place to show, or None."""

    @cached_by_rule
    def heading(row: Row) -> str:
        rule = row.result.rule
        place = str(row.policy.document.locate(rule.path))
        return verdict_heading((row.status, row.policy.key, rule.name), place, paint)

    def block(response: EngineResponse, rows: Iterable[Row]) -> str:
        shown = [
            heading(row)
            + verdict_lines(
                (row.result.message or row.result.own, row.result.note), at(row, response), paint
            )
            for row in (*rows, *silent_rows(response))
        ]
        return "".join([*shown, "\n"]) if shown else ""

    return block


def verdict_heading(shown: tuple[str, str, str], place: str, paint: Paint) -> str:
    """Return the line with a status, a policy and a rule, and with the place of the rule."""
    status, policy, rule = shown
    where = paint("dim", f"({safe_line(place)})")
    name = safe_line(rule_title(policy, rule))
    return f"  {paint(status, f'{status:<5}')}  {name} {where}\n"


def verdict_lines(messages: Iterable[str], at: Location | None, paint: Paint) -> str:
    """Return the lines below the heading: the messages, and the place in the input."""
    lines = "".join([f"{_INDENT}{indented(text, _INDENT)}\n" for text in messages if text])
    place = safe_line(str(at)) if at else ""
    return f"{lines}{_INDENT}{paint('place', f'at {place}')}\n" if place else lines


def reference_line(
    need: PendingReference, resolved: str | None, paint: Paint, *, owner: bool = False
) -> str:
    """Return the line about one injected reference: what meets it, or a warning."""
    style, what = reference_subject(need, resolved)
    of = f"{title(need.resource)}: " if owner else ""
    if style != "warn":
        return f"  {paint(style, 'needs')}  {safe_line(f'{of}{what}: {resolved or OPTIONAL}')}\n"
    hint = f"\n         {safe_line(need.hint)}" if need.hint else ""
    warning = paint(style, UNRESOLVED)
    return f"  {paint(style, 'needs')}  {safe_line(f'{of}{what}')}: {warning}{hint}\n"


def reference_subject(need: PendingReference, resolved: str | None) -> tuple[str, str]:
    """Return the look of an injected reference, `warn` where it leads nowhere, and what it is."""
    kind, namespace, name = need.reference.target
    what = f"{kind} {namespace}/{name} ({', '.join(need.reference.places)})"
    return "pass" if resolved else "dim" if need.reference.optional else "warn", what


def deletions_of(run: Run) -> PlannedDeletions | None:
    """Return a collector of planned deletions; None without policies that delete."""
    return PlannedDeletions() if run.schedules else None


_GUTTER = MappingProxyType({" ": "      ", "+": "    + ", "-": "    - ", "@": "      ..."})


def object_blocks(
    response: EngineResponse, paint: Paint, options: RenderOptions
) -> tuple[str, list[str]]:
    """Return the text of the mutated object ("" if none) and the texts of all other objects.

    It is the object after all policies, or with `options.diff` the changes of each.
    """
    mutated = mutations(response)
    texts = []
    before = response.trigger
    if mutated and not (options.diff and options.objects):
        texts.append(_head("mutated", "; ".join(map(author_of, mutated)), paint))
        texts.append(_comparison(before, mutated[-1].object, paint, options))
    else:
        for answer in mutated:
            texts.append(_head("mutated", author_of(answer), paint))
            texts.append(_comparison(before, answer.object, paint, options))
            before = answer.object
    others = []
    for change in patched_targets(response):
        head = _head(f"patched {short_title(change.object)}", change.author, paint)
        old = change.object if change.before is None else change.before
        others.append(f"{head}{_comparison(old, change.object, paint, options)}\n")
    for change in generated(response):
        head = _head(f"generated {short_title(change.object)}", change.author, paint)
        shown = yaml_lines(change.object) if options.objects else ()
        others.append(f"{head}{''.join(guttered(((' ', line) for line in shown), paint))}\n")
    return "".join(texts), others


def author_of(answer: PolicyResponse) -> str:
    """Return the policy and those of its rules that passed."""
    rules = [name for name in passed_rules(answer) if name]
    named = f", rule{'s' * (len(rules) != 1)} {', '.join(rules)}" if rules else ""
    return f"policy {answer.policy.key}{named}"


def _head(what: str, author: str, paint: Paint) -> str:
    return f"  {paint('pass', safe_line(what))} by {safe_line(author)}\n"


def _comparison(before: Json, after: Json, paint: Paint, options: RenderOptions) -> str:
    if not options.objects:
        return ""
    lines = marked_yaml(before, after)
    return "".join(guttered(hunks(lines) if options.diff else lines, paint))


def guttered(lines: Iterable[Marked], paint: Paint) -> Iterator[str]:
    """Yield marked lines as text, each with its mark in the margin."""
    for mark, line in lines:
        text = f"{_GUTTER[mark]}{line if line.isprintable() else safe_text(line)}"
        yield f"{text if mark == ' ' else paint(MARK_STYLES[mark], text)}\n"


def repeat_entries(response: EngineResponse) -> Iterator[Json]:
    """Yield JSON entries of changes and errors of a second evaluation."""
    before = response.object
    for answer in response.repeated:
        policy, resource = answer.policy.key, identity(response.trigger)
        if answer.changed:
            lines = marked_yaml(before, answer.object)
            yield {
                "policy": policy,
                "rules": passed_rules(answer),
                "resource": resource,
                "object": answer.object,
                "diff": [mark + line for mark, line in lines if mark != " "],
            }
        for result in answer.results:
            if result.status is RuleStatus.ERROR:
                rules = [result.rule.name]
                about = {"policy": policy, "rules": rules, "resource": resource}
                yield {**about, "error": result.message}
        before = answer.object


def repeat_blocks(response: EngineResponse, paint: Paint) -> Iterator[str]:
    """Yield a block of the text view for each policy that changes the object again, or fails."""
    before = response.object
    for answer in response.repeated:
        if answer.changed:
            head = f"  {paint('fail', 'changed again')} by {safe_line(author_of(answer))}\n"
            yield f"{head}{''.join(guttered(hunks(marked_yaml(before, answer.object)), paint))}\n"
        for result in answer.results:
            if result.status is RuleStatus.ERROR:
                name = safe_line(f"policy {answer.policy.key}, rule {result.rule.name}")
                message = indented(result.message, _INDENT)
                what = paint("error", "failed the second time")
                yield f"  {what}: {name}\n{_INDENT}{message}\n\n"
        before = answer.object
