"""`migrate --check`: each policy and what was made of it, compared by cases."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from kyvsim.api.equal import EqualInputs, compare
from kyvsim.api.inputs import ApplyInputs
from kyvsim.load.files import Source
from kyvsim.model.evidence import Answer, Evidence, Limit
from kyvsim.model.migration import Conversion, Migration
from kyvsim.model.policy import Policy
from kyvsim.report.object_text import to_yaml

_LIMITS: Mapping[str, Limit] = MappingProxyType(
    {
        "requests of other operations": Limit.OTHER_OPERATIONS,
        "deletions": Limit.DELETIONS,
        "amounts read at run time": Limit.READ_AMOUNTS,
        "texts read at run time": Limit.READ_TEXTS,
    }
)
"""By the names of conditions the differences that they are about."""
_BRIEF_CASES, _BRIEF_SECONDS = 300, 1.0


def with_evidence(migration: Migration, resources: tuple[str, ...], seconds: float) -> Migration:
    """Return a migration with the evidence on each policy that is converted as a whole.

    `resources` are manifests to try, too; `seconds` is how long to make cases of one policy.
    """
    pairs = list(zip(migration.conversions, migration.texts, strict=True))
    found = tuple(
        _evidence(_told(pair, pairs), resources, seconds) if pair[0].is_whole and pair[1] else None
        for pair in pairs
    )
    return migration._replace(evidence=found)


def with_counterexamples(migration: Migration) -> Migration:
    """Return a migration with evidence where a brief look finds a difference, and none elsewhere.

    The look goes no further than small objects with few changes: what it does not find is not
    checked. An error on an ordinary object is among the first things that it meets.
    """
    pairs = list(zip(migration.conversions, migration.texts, strict=True))
    found = (
        _evidence(_told(pair, pairs), (), _BRIEF_SECONDS, _BRIEF_CASES)
        if pair[0].is_whole and pair[1]
        else None
        for pair in pairs
    )
    shown = (one if one and one.answer is Answer.COUNTEREXAMPLE else None for one in found)
    return migration._replace(evidence=tuple(shown))


_Pair: TypeAlias = tuple[Conversion, str]
"""What became of a policy or an exception, and the YAML of that."""


class _Told(NamedTuple):
    """What is compared: policies, and the exceptions from them, before and after."""

    policies: tuple[_Pair, ...]
    exceptions: tuple[_Pair, ...] = ()


def _told(pair: _Pair, pairs: Sequence[_Pair]) -> _Told:
    """Return what is compared for a pair: of an exception it is the policies that it names."""
    exception = pair[0].policy
    if isinstance(exception, Policy):
        return _Told((pair,))
    named = {one.policy for one in exception.exceptions}
    return _Told(tuple(one for one in pairs if one[0].policy.key in named), (pair,))


def _evidence(
    told: _Told, resources: tuple[str, ...], seconds: float, cases: int = 0
) -> Evidence | None:
    """Return the evidence on a pair; `cases` bounds a brief look, which ends with what it finds."""
    inputs = EqualInputs(
        old=tuple(map(_before, told.policies)),
        new=tuple(map(_after, told.policies)),
        shared=ApplyInputs(
            policies=(),
            resources=resources,
            exceptions=tuple(text(one) for one in told.exceptions for text in (_before, _after)),
        ),
        seconds=seconds,
        needs_cases=True,
        conditions=frozenset(
            _LIMITS[note.condition.name]
            for conversion, _ in (*told.policies, *told.exceptions)
            for rule in conversion.rules
            for note in rule.notes
            if note.condition.name in _LIMITS
        ),
    )
    if cases:
        inputs = inputs._replace(cases=cases, first_only=True)
    return compare(inputs).evidence


def _before(pair: _Pair) -> Source:
    document = pair[0].policy.document
    return Source(document.file, to_yaml(document.data))


def _after(pair: _Pair) -> Source:
    return Source(f"what becomes of {pair[0].policy.document.file}", pair[1])
