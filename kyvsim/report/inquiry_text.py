"""Why policies did what they did to an object of a simulation, for people."""

from collections.abc import Iterator
from typing import NamedTuple

from kyvsim.kubernetes.objects import object_key
from kyvsim.model.explanation import ObjectExplanation, RuleExplanation, StepKind
from kyvsim.model.result import RuleStatus
from kyvsim.model.simulation import Inquiry, Simulation
from kyvsim.model.source import Location
from kyvsim.report.explain_text import LOOKS, wrapped
from kyvsim.report.explain_words import answer_word, decision, rule_name, verdict_word
from kyvsim.report.results import title
from kyvsim.report.style import Paint, counted, painter, safe_line
from kyvsim.report.timeline_rows import TimelineLook, shown_events, time_text

# When policies were asked about an object of a simulation, and why they did what: in words.


MET = "met"
"""A rule is for an object, and its controller takes up what it wants."""


class ToldInquiry(NamedTuple):
    """One time that policies were to be asked, as views tell it."""

    inquiry: Inquiry
    heading: str
    applied: tuple[RuleExplanation, ...]
    """Rules that are about the object, and those that a controller passed by."""
    others: tuple[RuleExplanation, ...]
    notes: tuple[str, ...]
    """Why nobody was asked, or could act."""

    @property
    def found(self) -> ObjectExplanation:
        """The object, and its state."""
        return self.inquiry.explained


def told_inquiries(simulation: Simulation, *, every: bool) -> Iterator[ToldInquiry]:
    """Yield the inquiries that people want to see: creations, shown events, answers that are new.

    A controller that asks of its own accord, such as a scan, mostly hears the same again.
    """
    shown = {one.number for one in shown_events(simulation, every=every)}
    objects = {object_key(one.explained.response.trigger) for one in simulation.inquiries}
    known: set[object] = set()
    for one in simulation.inquiries:
        told = _told(one, named=len(objects) > 1)
        if one.occasion:
            meant = one.event in shown or told.applied or one.occasion == "CREATE"
        else:
            answers = _answers(told)
            meant = answers not in known
            known.add(answers)
        if every or meant:
            yield told


def left_out(simulation: Simulation, *, every: bool) -> int:
    """Return how many inquiries `told_inquiries` leaves out."""
    return len(simulation.inquiries) - sum(1 for _ in told_inquiries(simulation, every=every))


def ending_word(rule: RuleExplanation) -> str:
    """Return how a rule ended: by its results, or by what it asked where a controller has none."""
    if _is_passed_by(rule):
        return StepKind.UNASKED.value
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


def _is_passed_by(rule: RuleExplanation) -> bool:
    return any(one.kind is StepKind.UNASKED for one in rule.steps)


def _answers(told: ToldInquiry) -> object:
    rules = (*told.applied, *told.others)
    said = ((rule_name(one), ending_word(one), decision(one, told.found).text) for one in rules)
    return told.inquiry.actor, object_key(told.found.response.trigger), tuple(said)


def _told(one: Inquiry, *, named: bool) -> ToldInquiry:
    rules = one.explained.rules
    notes = [f"no policy was asked: {one.unheard}"] if one.unheard else []
    if not rules and not one.unheard:
        notes.append("no policy acted yet" if one.waiting else "there was no policy")
    if one.waiting:
        notes.append(f"there, and not acting yet: {', '.join(one.waiting)}")
    return ToldInquiry(
        one,
        "  ".join(filter(None, (_heading(one), title(one.explained.response.trigger) * named))),
        tuple(rule for rule in rules if rule.applied or _is_passed_by(rule)),
        tuple(rule for rule in rules if not rule.applied and not _is_passed_by(rule)),
        tuple(notes),
    )


def _heading(one: Inquiry) -> str:
    asked = " ".join(filter(None, (one.actor, f"at {one.occasion}" if one.occasion else "")))
    if one.event is None:
        return f"{time_text(one.time)}  {asked}"
    link = "event" if one.occasion else "because of"
    return f"{time_text(one.time)}  {asked} ({link} {one.event})"


# Why policies did what they did to an object of a simulation, for people.


_WORD = 11


def inquiry_pieces(simulation: Simulation, look: TimelineLook) -> Iterator[str]:
    """Yield each time that policies were to be asked about the object, with their answers."""
    paint = painter(colours=look.colours)
    yield f"\n{paint('title', f'why, of {safe_line(simulation.explained)}')}\n"
    for told in told_inquiries(simulation, every=look.every):
        yield f"\n  {safe_line(told.heading)}\n"
        for note in told.notes:
            yield from wrapped(note, " " * 4, look.width)
        for rule in (*told.applied, *told.others):
            yield from _rule(rule, told, paint, look.width)
    hidden = left_out(simulation, every=look.every)
    if hidden:
        more = f"{counted(hidden, 'time')} more without an answer that is new (--all)"
        yield f"\n  {paint('dim', more)}\n"
    if not simulation.inquiries:
        yield "  no policy was to be asked about it\n"


def _rule(rule: RuleExplanation, told: ToldInquiry, paint: Paint, width: int) -> Iterator[str]:
    word = ending_word(rule)
    yield f"    {paint(LOOKS.get(word, word), f'{word:<{_WORD}}')}  {safe_line(rule_name(rule))}\n"
    indent = " " * (4 + _WORD + 2)
    for text in dict.fromkeys(filter(None, (one.message or one.own for one in rule.results))):
        yield from wrapped(text, indent, width)
    decided = decision(rule, told.found)
    if word == MET:
        decided = decided._replace(place=rule.place)
    else:
        yield from wrapped(decided.text, indent, width, "because ")
    for place in filter(_is_known, (decided.place, decided.seen_at)):
        yield f"{indent}{paint('place', safe_line(str(place)))}\n"


def _is_known(place: Location | None) -> bool:
    return place is not None and bool(place.file)
