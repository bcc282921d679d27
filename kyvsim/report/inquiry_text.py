"""Why policies did what they did to an object of a simulation, for people."""

from collections.abc import Iterator

from kyvsim.model.explanation import RuleExplanation
from kyvsim.model.simulation import Simulation
from kyvsim.model.source import Location
from kyvsim.report.explain_text import LOOKS, wrapped
from kyvsim.report.explain_words import decision, rule_name
from kyvsim.report.inquiry_words import MET, ToldInquiry, ending_word, left_out, told_inquiries
from kyvsim.report.style import Paint, counted, painter, safe_line
from kyvsim.report.timeline_rows import TimelineLook

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
