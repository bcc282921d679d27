"""A simulation as text, Mermaid diagram, page and JSON, with explanations of evaluations."""

import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from kyvsim.kubernetes.objects import ObjectKey, object_key
from kyvsim.model.explanation import ObjectExplanation, RuleExplanation, StepKind
from kyvsim.model.result import RuleStatus
from kyvsim.model.simulation import (
    EvaluationRecord,
    Expectation,
    Hazard,
    HazardLevel,
    Interleavings,
    Simulation,
    TimelineEvent,
    Unaffected,
)
from kyvsim.report.decisions import decision, rule_name
from kyvsim.report.diagnostics import diagnostic_json, place_json
from kyvsim.report.explain import (
    SHOWN_WORDS,
    STYLES,
    answer_word,
    explained_rule,
    rule_json,
    verdict_word,
    wrapped,
)
from kyvsim.report.object_text import document_origin, to_json, to_yaml, yaml_lines
from kyvsim.report.page import ending_of, page
from kyvsim.report.results import identity_of, key_title, title
from kyvsim.report.run import ending_json
from kyvsim.report.style import (
    MARK_STYLES,
    Paint,
    counted,
    painter,
    safe_line,
    safe_text,
    truncated,
)
from kyvsim.report.timeline_chart import (
    LANE,
    PairDifference,
    chart_of,
    difference,
    lanes_of,
    pairs_of,
)
from kyvsim.report.timeline_rows import (
    NOT_BEGUN,
    EndDifference,
    TimelineOptions,
    cause_of,
    differences,
    errors_of,
    event_title,
    hazard_subject,
    interleavings_text,
    shown_events,
    simulation_ending,
    summary_counts,
    summary_parts,
    time_text,
    title_of,
)

MET = "met"
"""A rule matches an object, and its controller processes it."""


class RenderedEvaluation(NamedTuple):
    """One evaluation of policies, as it is shown."""

    inquiry: EvaluationRecord
    heading: str
    applied: tuple[RuleExplanation, ...]
    """Rules that match the object, and rules that a controller did not run."""
    others: tuple[RuleExplanation, ...]
    notes: tuple[str, ...]
    """Why policies were not evaluated, or had no effect."""

    @property
    def found(self) -> ObjectExplanation:
        """The object and its state."""
        return self.inquiry.explained


def rendered_evaluations(simulation: Simulation, *, every: bool) -> Iterator[RenderedEvaluation]:
    """Yield the evaluations to show: creations, shown events, new results.

    Controllers that evaluate periodically, such as scans, mostly repeat their results.
    """
    shown = {event.number for event in shown_events(simulation, every=every)}
    objects = {object_key(inquiry.explained.response.trigger) for inquiry in simulation.inquiries}
    known: set[object] = set()
    for inquiry in simulation.inquiries:
        explanation, trigger = inquiry.explained, inquiry.explained.response.trigger
        notes = [f"no policy was evaluated: {inquiry.unheard}"] if inquiry.unheard else []
        if not explanation.rules and not inquiry.unheard:
            none = "no policy was active yet" if inquiry.waiting else "there were no policies"
            notes.append(none)
        if inquiry.waiting:
            notes.append(f"not active yet: {', '.join(inquiry.waiting)}")
        occasion = f" at {inquiry.occasion}" if inquiry.occasion else ""
        heading = f"{time_text(inquiry.time)}  {inquiry.actor}{occasion}"
        if inquiry.event is not None:
            heading += f" ({'event' if inquiry.occasion else 'because of event'} {inquiry.event})"
        if len(objects) > 1:
            heading += f"  {title(trigger)}"
        rules = explanation.rules
        applied = tuple(rule for rule in rules if rule.applied or _is_not_run(rule))
        others = tuple(rule for rule in rules if not (rule.applied or _is_not_run(rule)))
        if inquiry.occasion:
            meant = inquiry.event in shown or applied or inquiry.occasion == "CREATE"
        else:
            decisions = tuple(
                (rule_name(rule), ending_word(rule), decision(rule, explanation).text)
                for rule in (*applied, *others)
            )
            meant = (inquiry.actor, object_key(trigger), decisions) not in known
            known.add((inquiry.actor, object_key(trigger), decisions))
        if every or meant:
            yield RenderedEvaluation(inquiry, heading, applied, others, tuple(notes))


def left_out(simulation: Simulation, *, every: bool) -> int:
    """Return how many evaluations `rendered_evaluations` leaves out."""
    return len(simulation.inquiries) - sum(1 for _ in rendered_evaluations(simulation, every=every))


def ending_word(rule: RuleExplanation) -> str:
    """Return the result of a rule: from its results, or from its steps if it has none."""
    if _is_not_run(rule):
        return StepKind.NOT_EVALUATED.value
    if rule.results or not rule.applied:
        return verdict_word(rule)
    for step in reversed(rule.steps):
        if step.kind is StepKind.BODY:
            return answer_word(step.answer) or verdict_word(rule)
        unmet = step.kind is StepKind.CONDITIONS and step.answer is False
        if unmet or (step.kind is StepKind.EXCEPTION and step.answer is True):
            return RuleStatus.SKIP.value
        if RuleStatus.ERROR is step.answer:
            return RuleStatus.ERROR.value
    return MET


def _is_not_run(rule: RuleExplanation) -> bool:
    return any(step.kind is StepKind.NOT_EVALUATED for step in rule.steps)


_WORD = 11
_OUTCOMES: Mapping[str, str] = {
    "denied": "fail",
    "failed": "fail",
    "waiting": "warn",
    "skipped": "skip",
}
_LEVELS: Mapping[HazardLevel, str] = {
    HazardLevel.ERROR: "error",
    HazardLevel.WARNING: "warn",
    HazardLevel.INFO: "skip",
}
_NARROWEST = 40
_TITLE = 30
"""Width of the column of object titles, in characters."""
_UNDER = " " * 10


def _evaluation_lines(simulation: Simulation, options: TimelineOptions) -> Iterator[str]:
    paint, width = painter(colours=options.colours), options.width
    indent = " " * (4 + _WORD + 2)
    yield f"\n{paint('title', f'explanation of {safe_line(simulation.explained)}')}\n"
    for shown in rendered_evaluations(simulation, every=options.every):
        yield f"\n  {safe_line(shown.heading)}\n"
        for note in shown.notes:
            yield from wrapped(note, " " * 4, width)
        for rule in (*shown.applied, *shown.others):
            word = ending_word(rule)
            word = SHOWN_WORDS.get(word, word)
            style = paint(STYLES.get(word, word), f"{word:<{_WORD}}")
            yield f"    {style}  {safe_line(rule_name(rule))}\n"
            texts = filter(None, (result.message or result.own for result in rule.results))
            for text in dict.fromkeys(texts):
                yield from wrapped(text, indent, width)
            decided = decision(rule, shown.found)
            if word == MET:
                decided = decided._replace(place=rule.place)
            else:
                yield from wrapped(decided.text, indent, width, "because ")
            for place in (decided.place, decided.seen_at):
                if place is not None and place.file:
                    yield f"{indent}{paint('place', safe_line(str(place)))}\n"
    hidden = left_out(simulation, every=options.every)
    if hidden:
        more = f"{counted(hidden, 'more evaluation')} with the same results (--all)"
        yield f"\n  {paint('dim', more)}\n"
    if not simulation.inquiries:
        yield "  no policy was evaluated for it\n"


def render_text(simulation: Simulation, options: TimelineOptions) -> Iterator[str]:
    """Yield the view; the last line shows the counts."""
    if simulation is NOT_BEGUN:
        yield f"{simulation.name}: an input could not be used\n"
        return
    paint = painter(colours=options.colours)
    name = paint("title", safe_line(simulation.name))
    how = f"(install {safe_line(simulation.installation)}, model {simulation.model})"
    yield f"{name} {paint('dim', how)}\n"
    for line in _wrapped(simulation.description, options.width):
        yield f"{line}\n"
    yield "\n"
    yield from _timeline(simulation, options, paint)
    yield from _expectation_lines(simulation, options, paint)
    yield from _unaffected_lines(simulation, options, paint)
    if simulation.hazards:
        yield "\nhazards\n"
    for hazard in simulation.hazards:
        yield from _hazard(hazard, options, paint)
    if simulation.explained:
        yield from _evaluation_lines(simulation, options)
    if simulation.interleavings:
        yield from _orders(simulation.interleavings, options, paint)
    if simulation.compared:
        yield from _comparison(simulation, simulation.compared, options)
    yield f"\n{', '.join(summary_parts(simulation))}\n"


def _expectation_lines(
    simulation: Simulation, options: TimelineOptions, paint: Paint
) -> Iterator[str]:
    if simulation.expectations:
        yield "\nexpectations\n"
    for expectation in simulation.expectations:
        word = paint("pass", "met    ") if expectation.met else paint("fail", "NOT MET")
        where = safe_line(f"({expectation.location})")
        place = f" {paint('dim', where)}" if expectation.location else ""
        when = f" {paint('dim', f'at {time_text(expectation.time)}')}" if expectation.met else ""
        yield f"  {word}  {safe_line(expectation.text)}{when}{place}\n"
        for line in _wrapped(expectation.reason, options.width - len(_UNDER)):
            yield f"{_UNDER} {line}\n"


def _unaffected_lines(
    simulation: Simulation, options: TimelineOptions, paint: Paint
) -> Iterator[str]:
    """Yield why policies did nothing to objects whose kind they match."""
    if simulation.unaffected:
        yield "\nobjects that no policy affected\n"
    for one in simulation.unaffected:
        yield f"  {safe_line(f'{key_title(one.object)}  {one.rule}')}\n"
        yield from wrapped(one.reason, _UNDER, options.width)
        if one.location is not None and one.location.file:
            yield f"{_UNDER}{paint('place', safe_line(str(one.location)))}\n"


def _orders(interleavings: Interleavings, options: TimelineOptions, paint: Paint) -> Iterator[str]:
    """Yield the different endings of other interleavings, each with its shortest timeline."""
    yield f"\n{interleavings_text(interleavings)}\n"
    usual, *others = interleavings.endings
    for ending in others:
        name = f"different ending in {counted(ending.runs, 'interleaving')}"
        changes = counted(ending.changes, "reordering")
        yield f"\n{paint('title', name)}, the closest with {changes}\n"
        for end_difference in differences(usual.simulation, ending.simulation):
            yield from _difference(end_difference, options)
        yield "\n"
        yield from _timeline(ending.simulation, options, paint)


def _comparison(
    simulation: Simulation, other: Simulation, options: TimelineOptions
) -> Iterator[str]:
    """Yield the differences from another run: first at the end, then in the events."""
    paint = painter(colours=options.colours)
    yield f"\n{paint('title', f'compared with {safe_line(other.name)}')}\n"
    alike = EndDifference("alike", "both runs end in the same state")
    for end_difference in [*differences(simulation, other)] or [alike]:
        yield from _difference(end_difference, options)
    rows = [
        (mark, _cells(event), _outcome(event))
        for pair in pairs_of(simulation, other, every=options.every)
        if pair.difference is not PairDifference.ALIKE
        for mark, event in zip("-+", pair, strict=True)
        if event
    ]
    widths = [max((len(row[1][column]) for row in rows), default=0) for column in range(4)]
    yield "\n" if rows else ""
    for mark, cells, outcome in rows:
        aligned = [cell.ljust(width) for cell, width in zip(cells, widths, strict=False)]
        line = "  ".join(filter(None, (*aligned, *cells[4:], outcome))).rstrip()
        yield f"  {paint(MARK_STYLES[mark], f'{mark} {line}')}\n"


def _difference(found: EndDifference, options: TimelineOptions) -> Iterator[str]:
    text = f"{found.word:<9} {found.text}"
    first, *more = _wrapped(text, options.width - len(_UNDER)) or [""]
    yield f"  {first}\n"
    yield from (f"{_UNDER}  {line}\n" for line in more)


def _timeline(simulation: Simulation, options: TimelineOptions, paint: Paint) -> Iterator[str]:
    events = list(shown_events(simulation, every=options.every))
    shown = {event.number for event in events}
    rows = [_cells(event) for event in events]
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(4)]
    for event, row in zip(events, rows, strict=True):
        cells = [text.rjust(width) for text, width in zip(row[:2], widths[:2], strict=True)]
        cells += [text.ljust(width) for text, width in zip(row[2:4], widths[2:], strict=True)]
        cells.append(row[-1].ljust(_TITLE))
        outcome, style = _outcome(event), _OUTCOMES.get(event.outcome)
        word = paint(style, outcome) if style else outcome
        yield "  ".join(filter(None, (paint("dim", cells[0]), *cells[1:], word))).rstrip()

        # The policies and the cause, on a line of their own if there is no room.
        cause = cause_of(event, shown, simulation)
        parts = [f"by {safe_line(', '.join(event.policies))}"] if event.policies else []
        parts += [f"(because of event {cause})"] if cause is not None else []
        reason = " ".join(parts)
        if reason:
            plain = "  ".join(filter(None, (*cells, outcome)))
            gap = " " * (len(plain) - len(plain.rstrip()) + 2)
            has_room = len(plain) + 2 + len(reason) <= options.width
            yield (gap if has_room else f"\n{_UNDER}") + paint("dim", reason)
        yield "\n"
        for line in _wrapped(event.full_message, options.width - len(_UNDER)):
            yield f"{_UNDER}{paint('dim', line)}\n"
        for error in errors_of(event):
            first, *more = _wrapped(error, options.width - len(_UNDER) - 7) or [""]
            yield f"{_UNDER}{paint('error', 'error')}  {first}\n"
            yield from (f"{_UNDER}{' ' * 7}{line}\n" for line in more)


def _outcome(event: TimelineEvent) -> str:
    return "" if event.outcome == "done" else safe_line(event.outcome)


def _cells(event: TimelineEvent) -> tuple[str, ...]:
    cells = (str(event.number), time_text(event.time), event.actor, event.action)
    return tuple(map(safe_line, (*cells, event_title(event))))


def _hazard(hazard: Hazard, options: TimelineOptions, paint: Paint) -> Iterator[str]:
    level = paint(_LEVELS[hazard.level], f"{hazard.level:<7}")
    subject = safe_line(", ".join(hazard_subject(hazard)))
    yield f"  {level}  {hazard.code}  {subject}".rstrip() + "\n"
    for line in _wrapped(hazard.message, options.width - len(_UNDER)):
        yield f"{_UNDER} {line}\n"
    if hazard.location:
        yield f"{_UNDER} {paint('place', f'at {safe_line(str(hazard.location))}')}\n"
    if hazard.events:
        numbers = ", ".join(map(str, hazard.events))
        yield f"{_UNDER} {paint('dim', f'see {numbers}')}\n"
    for number, manifest in enumerate(hazard.manifests):
        lines = (["---"] if number else []) + yaml_lines(manifest)
        yield from (f"{_UNDER}   {safe_line(line)}\n" for line in lines)


def _wrapped(text: str, width: int) -> Iterator[str]:
    """Yield the lines of a text, escaped and wrapped."""
    for line in safe_text(text).splitlines():
        if line.strip():
            indent = " " * (len(line) - len(line.lstrip()))
            yield from textwrap.wrap(
                line.rstrip(),
                max(width, _NARROWEST),
                subsequent_indent=indent,
                break_long_words=False,
                break_on_hyphens=False,
            )


def render_mermaid(simulation: Simulation, options: TimelineOptions) -> Iterator[str]:
    """Yield the diagram; each actor and each kind of objects is a participant."""
    events = list(shown_events(simulation, every=options.every))
    yield "sequenceDiagram\n"
    yield f"  title {_escaped(simulation.name)} ({simulation.model})\n"
    actors = dict.fromkeys(event.actor for event in events)
    kinds = dict.fromkeys(event.object.kind for event in events)
    actor_ids = {actor: f"a{index}" for index, actor in enumerate(actors)}
    kind_ids = {kind: f"k{index}" for index, kind in enumerate(kinds)}
    for actor, name in actor_ids.items():
        yield f"  {'actor' if actor == 'user' else 'participant'} {name} as {_escaped(actor)}\n"
    for kind, name in kind_ids.items():
        yield f"  participant {name} as {_escaped(kind)}\n"
    for event in events:
        kind = kind_ids[event.object.kind]
        arrow = "-x" if event.outcome in {"denied", "failed"} else "->>"
        outcome = "" if event.outcome == "done" else f" ({event.outcome})"
        name = title_of(event.object).partition(" ")[2]
        text = f"{time_text(event.time)} {event.action} {name}{outcome}"
        yield f"  {actor_ids[event.actor]}{arrow}{kind}: {_escaped(text)}\n"
        for text in (event.full_message, *(f"error {error}" for error in errors_of(event))):
            if text:
                yield f"  Note right of {kind}: {_note('', text)}\n"
    if events:
        over = f"a0,{kind_ids[events[-1].object.kind]}"
        for hazard in simulation.hazards:
            text = _note(f"{hazard.code} {hazard.level}: ", hazard.message)
            yield f"  Note over {over}: {text}\n"


def _note(lead: str, text: str) -> str:
    """Return the beginning of a text after a prefix, escaped and with line breaks between words."""
    shown = f"{lead}{truncated(' '.join(text.split()), 160)}"
    lines: list[str] = [""]
    for word in shown.split():
        if lines[-1] and len(lines[-1]) + len(word) >= 48:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return "<br/>".join(map(_escaped, lines))


def _escaped(text: str) -> str:
    """Return a text escaped for a diagram, with entities for special characters."""
    shown = "".join(
        char if char.isalnum() or char in " .,/-_()'=+*!?…" else f"#{ord(char)};"
        for char in " ".join(text.split())
        if char.isalnum() or char.isprintable()
    )
    return re.sub(r"\bend\b", "#101;nd", shown, flags=re.IGNORECASE)  # `end` would close a block


TEXTS: Final = MappingProxyType(
    {
        "time": time_text,
        "subject": hazard_subject,
        "title": key_title,
        "yaml": to_yaml,
        "levels": {HazardLevel.ERROR: "bad", HazardLevel.WARNING: "warn", HazardLevel.INFO: "info"},
        "lane_height": LANE,
    }
)
"""Functions and styles for the templates."""


def columns(count: int) -> str:
    """Return the style sheet for a number of lanes, since inline styles are not allowed."""
    lines = [f".lanes{{grid-template-columns:6.5rem repeat({max(1, count)},minmax(0,1fr))}}\n"]
    lines += [f".l{lane}{{grid-column:{lane + 2}}}\n" for lane in range(count)]
    return "@media screen and (min-width:861px){\n" + "".join(lines) + "}\n"


def _run(letter: str, side: str, simulation: Simulation) -> dict[str, object]:
    """Return the values of one of two runs for templates; `side` is the id prefix of its cards."""
    lanes = lanes_of(simulation)
    return {
        "letter": letter,
        "side": side,
        "simulation": simulation,
        "summary": summary_parts(simulation),
        "lanes": lanes,
        "cards": {card.event.number: card for card in lanes.cards},
        "chart": chart_of(lanes, simulation.seconds),
    }


def render_html(simulation: Simulation, options: TimelineOptions) -> Iterator[str]:
    """Yield the page in pieces; a switch shows bookkeeping.

    A comparison with another simulation shows both side by side, with the differences at the end
    and step by step; it includes bookkeeping only if `options.every` is set.
    """
    result: dict[str, Any] = {
        "ending": ending_of(simulation_ending(simulation, options.terms)),
        "diagnostics": options.terms.diagnostics,
    }
    other = simulation.compared
    if other:
        pairs = list(pairs_of(simulation, other, every=options.every))
        counts = Counter(pair.difference for pair in pairs)
        return page(
            "comparison.html",
            style=("timeline.css", columns(2)),
            script=("timeline.js",),
            runs=(_run("A", "e", simulation), _run("B", "f", other)),
            differences=list(differences(simulation, other)),
            pairs=pairs,
            tally=[f"{counts[difference]} {difference.value}" for difference in PairDifference],
            texts=TEXTS,
            **result,
        )
    values = values_of(simulation, options)
    is_begun = simulation is not NOT_BEGUN
    return page(
        "timeline.html",
        style=("timeline.css", columns(len(values["lanes"].names))),
        script=("timeline.js",) if is_begun else (),
        is_begun=is_begun,
        **result,
        **values,
    )


def values_of(simulation: Simulation, options: TimelineOptions) -> dict[str, Any]:
    """Return the values of a simulation for templates."""
    lanes = lanes_of(simulation)
    # The changes of every shown object, in order of first appearance.
    shown = {event.object for event in shown_events(simulation, every=False)}
    shown |= set(map(object_key, simulation.objects))
    versions: dict[ObjectKey, list[TimelineEvent]] = {}
    for event in simulation.events:
        changed = event.before is not None or event.after is not None
        if event.object in shown and event.outcome == "done" and changed:
            versions.setdefault(event.object, []).append(event)
    inquiries = []
    for inquiry in rendered_evaluations(simulation, every=options.every):
        rules = []
        for rule in (*inquiry.applied, *inquiry.others):
            word = ending_word(rule)
            word = SHOWN_WORDS.get(word, word)
            rules.append(explained_rule(rule, inquiry.found) | {"word": word})
        inquiries.append((inquiry, tuple(rules)))
    return {
        "simulation": simulation,
        "summary": summary_parts(simulation),
        "every": options.every,
        "lanes": lanes,
        "chart": chart_of(lanes, simulation.seconds),
        "texts": TEXTS,
        "objects": versions,
        "inquiries": tuple(inquiries),
        "more": left_out(simulation, every=options.every),
        "orders": interleavings_text(simulation.interleavings) if simulation.interleavings else "",
        "differences": differences,
        "difference": difference,
        "shown_events": shown_events,
        "title_of": title_of,
        "event_title": event_title,
    }


def render_json(simulation: Simulation, options: TimelineOptions) -> Iterator[str]:
    """Yield the document, one event or object at a time; it always includes bookkeeping."""
    lists: dict[str, Iterable[object]] = {
        "events": map(_event, simulation.events),
        "objects": simulation.objects,
        "hazards": map(_hazard_json, simulation.hazards),
        "unaffected": map(_unaffected, simulation.unaffected),
        "expectations": map(_expectation, simulation.expectations),
        "diagnostics": map(diagnostic_json, options.terms.diagnostics),
    }
    start = "{"
    for name, values in lists.items():
        yield f'{start}"{name}": ['
        yield from _joined(values)
        yield "]"
        start = ", "
    if simulation.explained:
        yield f', "explained": {to_json(simulation.explained)}, "inquiries": ['
        yield from _joined(map(_inquiry, rendered_evaluations(simulation, every=True)))
        yield "]"
    if simulation.interleavings:
        # All endings except the usual one have the events of their shortest run.
        interleavings = simulation.interleavings
        usual, *others = interleavings.endings
        endings = [
            {
                "orders": ending.runs,
                "changes": ending.changes,
                "differences": _differences(usual.simulation, ending.simulation),
                **_steps(ending.simulation),
            }
            for ending in others
        ]
        orders = {
            "orders": interleavings.runs,
            "complete": interleavings.complete,
            "otherwise": endings,
        }
        yield f', "interleavings": {to_json(orders)}'
    if simulation.compared:
        other = simulation.compared
        compared = {
            "differences": _differences(simulation, other),
            "pairs": [
                {
                    "difference": pair.difference.value,
                    "event": pair.first.number if pair.first else None,
                    "other": pair.second.number if pair.second else None,
                }
                for pair in pairs_of(simulation, other, every=True)
            ],
            **_steps(other),
            "summary": _summary(other),
        }
        yield f', "compared": {to_json(compared)}'
    yield f', "ending": {to_json(ending_json(simulation_ending(simulation, options.terms)))}'
    yield f', "summary": {to_json(_summary(simulation))}'
    yield f', "kyvsim": {to_json(document_origin("simulate"))}}}\n'


def _unaffected(one: Unaffected) -> dict[str, object]:
    return {
        "object": key_title(one.object),
        "rule": one.rule,
        "reason": one.reason,
        "location": place_json(one.location),
    }


def _steps(simulation: Simulation) -> dict[str, object]:
    return {
        "events": [*map(_event, simulation.events)],
        "hazards": [*map(_hazard_json, simulation.hazards)],
        "expectations": [*map(_expectation, simulation.expectations)],
    }


def _differences(usual: Simulation, other: Simulation) -> list[dict[str, str]]:
    return [{"what": word, "text": text} for word, text in differences(usual, other)]


def _joined(values: Iterable[object]) -> Iterator[str]:
    for index, value in enumerate(values):
        yield f"{',' if index else ''}\n{to_json(value)}"


def _event(event: TimelineEvent) -> dict[str, object]:
    return {
        "time": round(event.time, 6),
        "actor": event.actor,
        "action": event.action,
        "object": identity_of(event.object),
        "outcome": event.outcome,
        "message": event.full_message,
        "number": event.number,
        "cause": event.cause,
        "policies": list(event.policies),
        "obstacles": [
            {
                "reason": failure.reason.value,
                "message": failure.message,
                "object": identity_of(failure.object) if failure.object else None,
                "rules": list(failure.rules),
            }
            for failure in event.failure_reasons
        ],
        "givenUp": event.given_up,
        "errors": [{"rule": error.rule, "message": error.message} for error in event.unevaluated],
    }


def _inquiry(shown: RenderedEvaluation) -> dict[str, object]:
    inquiry = shown.inquiry
    return {
        "time": round(inquiry.time, 6),
        "actor": inquiry.actor,
        "occasion": inquiry.occasion,
        "event": inquiry.event,
        "unheard": inquiry.unheard,
        "waiting": list(inquiry.waiting),
        "rules": [
            {**rule_json(rule, shown.found), "verdict": ending_word(rule)}
            for rule in (*shown.applied, *shown.others)
        ],
    }


def _hazard_json(hazard: Hazard) -> dict[str, object]:
    return {
        "code": hazard.code,
        "level": hazard.level.value,
        "message": hazard.message,
        "objects": [identity_of(key) for key in hazard.objects],
        "policies": list(hazard.policies),
        "events": list(hazard.events),
        "location": place_json(hazard.location),
        **({"manifests": list(hazard.manifests)} if hazard.manifests else {}),
    }


def _expectation(expectation: Expectation) -> dict[str, object]:
    return {
        "text": expectation.text,
        "met": expectation.met,
        "time": round(expectation.time, 6),
        "reason": expectation.reason,
        "location": place_json(expectation.location),
    }


def _summary(simulation: Simulation) -> dict[str, object]:
    return {
        "name": simulation.name,
        "model": simulation.model,
        "kyverno": simulation.release,
        "install": simulation.installation,
        "seconds": round(simulation.seconds, 6),
        "stopped": simulation.cut.reason if simulation.cut else None,
        **summary_counts(simulation),
    }
