"""What became of policies as one JSON document."""

from collections.abc import Iterator

from kyvsim.kubernetes.objects import Json
from kyvsim.model.evidence import Evidence
from kyvsim.model.migration import Conversion, Migration, RuleOutcome
from kyvsim.report.diagnostics import diagnostic_json
from kyvsim.report.ending import ending_json
from kyvsim.report.equal_json import evidence_json
from kyvsim.report.migrate_text import ending_of
from kyvsim.report.object_text import to_json


def render(migration: Migration) -> Iterator[str]:
    """Yield the document: `policies`, `diagnostics`, `ending`."""
    listed = ",\n  ".join(to_json(_policy(*pair)) for pair in migration.pairs)
    yield '{"policies": [' + (f"\n  {listed}" if listed else "") + "]"
    remarks = ",\n  ".join(to_json(diagnostic_json(one)) for one in migration.diagnostics)
    yield ',\n"diagnostics": [' + (f"\n  {remarks}" if remarks else "") + "]"
    yield f',\n"ending": {to_json(ending_json(ending_of(migration)))}}}\n'


def _policy(conversion: Conversion, evidence: Evidence | None) -> Json:
    policy = conversion.policy
    return {
        "kind": policy.kind,
        "policy": policy.key,
        "file": policy.document.file,
        "outcome": conversion.outcome.value,
        "rules": [_rule(one) for one in conversion.rules],
        "made": [one.data for one in conversion.made],
        "renamed": {
            one.wanted: one.data["metadata"]["name"] for one in conversion.made if one.wanted
        },
        "evidence": None if evidence is None else evidence_json(evidence),
    }


def _rule(one: RuleOutcome) -> Json:
    return {
        "rule": one.rule,
        "outcome": one.outcome.value,
        "file": one.location.file,
        "line": one.location.line,
        "column": one.location.column,
        "path": one.path,
        "reason": one.reason,
        "advice": one.advice,
        "conditions": [
            {"name": note.condition.name, "text": note.condition.text} for note in one.notes
        ],
    }
