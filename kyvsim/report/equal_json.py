"""Evidence as one JSON document, for programs."""

from collections.abc import Iterator

from kyvsim.kubernetes.objects import Json
from kyvsim.model.evidence import Account, Counterexample, Evidence, SideReached
from kyvsim.model.source import Location
from kyvsim.report.coverage_json import point_json, ratio_json
from kyvsim.report.diagnostics import diagnostic_json
from kyvsim.report.ending import ending_json
from kyvsim.report.equality import Equality
from kyvsim.report.object_text import to_json


def render(found: Equality) -> Iterator[str]:
    """Yield the document: `diagnostics`, `ending`, and `evidence`, null where there is none."""
    told = {
        "diagnostics": [diagnostic_json(one) for one in found.diagnostics],
        "ending": ending_json(found.ending),
        "evidence": None if found.evidence is None else evidence_json(found.evidence),
    }
    yield f"{to_json(told)}\n"


def evidence_json(evidence: Evidence) -> Json:
    """Return evidence as data."""
    return {
        "answer": evidence.answer.value,
        "identical": evidence.identical,
        "cases": evidence.cases,
        "given": evidence.given,
        "denied": evidence.denied,
        "counterexamples": [example_json(one) for one in evidence.counterexamples],
        "notCounted": [example_json(one) for one in evidence.limited],
        "notCovered": list(evidence.reasons),
        "notTried": list(evidence.untried),
        "old": _side(evidence.old),
        "new": _side(evidence.new),
    }


def example_json(one: Counterexample) -> Json:
    """Return a case in which two sets of policies differ, with both accounts of it."""
    return {
        "difference": one.difference.value,
        "operation": one.operation,
        "object": one.object,
        "oldObject": one.old_object,
        "userInfo": one.user,
        "namespaceLabels": one.namespace_labels,
        "lookedUp": list(one.there),
        "given": one.given,
        "reason": None if one.limit is None else one.limit.value,
        "old": _account(one.old),
        "new": _account(one.new),
    }


def _account(account: Account) -> Json:
    return {
        "results": [one._asdict() for one in account.said],
        "object": account.object,
        "generated": list(account.generated),
        "deletes": account.deleted,
        "later": list(account.later),
        "decided": {"text": account.decided, "policy": _place(account.place)},
    }


def _side(side: SideReached) -> Json:
    return {
        "policies": list(side.policies),
        "acted": side.acted,
        **ratio_json(side.ratio),
        "unreached": [point_json(one) for one in side.unreached],
    }


def _place(place: Location | None) -> Json:
    return None if place is None else place._asdict()
