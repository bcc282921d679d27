"""Explanations as one page for a browser; the steps on the way to what decided are open."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kyvsim.model.explanation import ObjectExplanation
from kyvsim.model.source import Location
from kyvsim.report.explain_nodes import ExplainedRule, explained_rule
from kyvsim.report.explain_words import Page
from kyvsim.report.page import page
from kyvsim.report.results import title


class ObjectPart(NamedTuple):
    """An object, as a page tells of it."""

    title: str
    place: Location | None
    applied: tuple[ExplainedRule, ...]
    others: tuple[ExplainedRule, ...]
    """Rules that are not about it."""


def render(objects: Iterable[ObjectExplanation], _: Page) -> Iterator[str]:
    """Yield the page in pieces."""
    return page("explain.html", objects=map(object_part, objects))


def object_part(found: ObjectExplanation) -> ObjectPart:
    """Return what a page tells of an object."""
    document = found.response.document
    rules = [explained_rule(one, found) for one in found.rules]
    return ObjectPart(
        title=title(found.response.trigger),
        place=document.locate(()) if document else None,
        applied=tuple(one for one in rules if one.rule.applied),
        others=tuple(one for one in rules if not one.rule.applied),
    )
