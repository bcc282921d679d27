"""Evidence as pages for a browser show it: values for `evidence.html` among the templates."""

from typing import NamedTuple

from kyvsim.model.evidence import Account, Answer, Counterexample, Evidence, Said
from kyvsim.model.source import Location
from kyvsim.report.evidence_words import (
    effects,
    example_objects,
    example_title,
    headline,
    reached,
    telling,
    told_limits,
    unreached,
    without_effect,
)
from kyvsim.report.object_text import Marked


class ShownAccount(NamedTuple):
    """What one side did in a case."""

    side: str
    said: tuple[Said, ...]
    deleted: bool
    undone: str
    lines: tuple[Marked, ...]
    later: tuple[str, ...]
    decided: str
    place: Location | None


class ShownExample(NamedTuple):
    """A case in which both differ."""

    title: str
    looks: str
    """`bad`, or `warn` where it does not count."""
    why: str
    """Why it does not count."""
    objects: tuple[tuple[str, str], ...]
    """Names, "" for the object itself, and YAML."""
    accounts: tuple[ShownAccount, ...]


class ShownEvidence(NamedTuple):
    """What comparing two sets of policies showed."""

    headline: str
    looks: str
    sides: tuple[tuple[str, str, tuple[str, ...]], ...]
    """Names, what was reached, and what never came up."""
    reasons: tuple[str, ...]
    untried: tuple[str, ...]
    examples: tuple[ShownExample, ...]


def shown_evidence(evidence: Evidence) -> ShownEvidence:
    """Return evidence as a template shows it."""
    limits = tuple(told_limits(evidence))
    sides = (("old", evidence.old), ("new", evidence.new))
    return ShownEvidence(
        headline=headline(evidence),
        looks={Answer.EQUAL: "good", Answer.COUNTEREXAMPLE: "bad"}.get(evidence.answer, "warn"),
        sides=tuple(
            (name, reached(side), tuple(map(unreached, side.unreached))) for name, side in sides
        ),
        reasons=evidence.reasons,
        untried=evidence.untried,
        examples=(*map(_example, evidence.counterexamples), *map(_example, limits)),
    )


def _example(one: Counterexample) -> ShownExample:
    return ShownExample(
        title=example_title(one),
        looks="bad" if one.limit is None else "warn",
        why=one.limit.value if one.limit else "",
        objects=tuple((name, "\n".join(lines)) for name, lines in example_objects(one)),
        accounts=(_account("old", one.old, one), _account("new", one.new, one)),
    )


def _account(side: str, account: Account, one: Counterexample) -> ShownAccount:
    return ShownAccount(
        side=side,
        said=telling(account),
        deleted=account.deleted,
        undone=without_effect(account, one),
        lines=effects(account, one),
        later=account.later,
        decided=account.decided,
        place=account.place,
    )
