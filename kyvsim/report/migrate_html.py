"""What became of policies as one page for a browser, with the new policies and the evidence."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from kyvsim.model.evidence import Evidence
from kyvsim.model.migration import Conversion, Migration, Outcome, RuleOutcome
from kyvsim.report.evidence_page import ShownEvidence, shown_evidence
from kyvsim.report.migrate_text import ending_of as migration_ending
from kyvsim.report.page import Counted, ending_of, page, table_of

_LOOKS: Mapping[Outcome, str] = MappingProxyType(
    {Outcome.REFUSED: "bad", Outcome.CONDITIONAL: "warn", Outcome.CONVERTED: "good"}
)
"""How outcomes look, those that weigh most first."""


class _Rule(NamedTuple):
    """What became of a rule."""

    told: RuleOutcome
    looks: str
    notes: tuple[tuple[str, str], ...]
    """Names and texts of conditions."""


class _Policy(NamedTuple):
    """What became of a policy."""

    kind: str
    key: str
    file: str
    rules: tuple[_Rule, ...]
    text: str
    evidence: ShownEvidence | None


def render(migration: Migration) -> Iterator[str]:
    """Yield the page in pieces, the policies in the order in which they were given."""
    found = zip(migration.pairs, migration.texts, strict=True)
    rules = (
        Counted(one.policy.key, rule.outcome.value)
        for one in migration.conversions
        for rule in one.rules
    )
    return page(
        "migrate.html",
        style=("evidence.css",),
        ending=ending_of(migration_ending(migration)),
        remarks=migration.diagnostics,
        tables=(table_of("policy", rules, tuple(one.value for one in _LOOKS)),),
        policies=[_policy(one, evidence, text) for (one, evidence), text in found],
    )


def _policy(one: Conversion, evidence: Evidence | None, text: str) -> _Policy:
    policy = one.policy
    return _Policy(
        kind=policy.kind,
        key=policy.key,
        file=policy.document.file,
        rules=tuple(map(_rule, one.rules)),
        text=text,
        evidence=None if evidence is None else shown_evidence(evidence),
    )


def _rule(one: RuleOutcome) -> _Rule:
    notes = dict.fromkeys((note.condition.name, note.condition.text) for note in one.notes)
    return _Rule(one, _LOOKS[one.outcome], tuple(notes))
