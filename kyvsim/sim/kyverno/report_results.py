"""The entries of reports: what one rule says of one object.

Source of the rules: upstream pkg/utils/report/results.go.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from kyvsim.kube.gvk import split_api_version
from kyvsim.kube.objects import Json, object_key, text_field
from kyvsim.model.policy import SEVERITIES, Policy
from kyvsim.model.report_entry import report_message, report_properties, report_source
from kyvsim.model.result import PolicyResponse, RuleResult, RuleStatus
from kyvsim.sim.parts import Parts

_STATUSES = tuple(status.value for status in RuleStatus)
_EXCLUDED = "reports.kyverno.io/disabled"


def is_reported(policy: Policy) -> bool:
    """Return whether reports may tell of a policy; a label keeps it out."""
    meta = policy.document.data.get("metadata") or {}
    return _EXCLUDED not in (meta.get("labels") or {})


def entries(responses: Iterable[PolicyResponse], parts: Parts) -> list[Json]:
    """Return the entries of the results that are reported, in the order of reports.

    They have been evaluated now; the installation says which statuses are told.
    """
    told, seconds = parts.settings.installation.reported, int(parts.clock.now().timestamp())
    return in_order(
        _entry(one.policy, result, seconds)
        for one in responses
        if is_reported(one.policy)
        for result in one.results
        if told is None or result.status.value in told
    )


def in_order(results: Iterable[Json]) -> list[Json]:
    """Return entries by policy and rule."""
    return sorted(results, key=lambda one: (one["policy"], rule_of(one)))


def rule_of(entry: Json) -> str:
    """Return the rule that an entry tells of; "" for what a policy without rules says."""
    return text_field(entry, "rule")


def summary(results: Iterable[Json]) -> dict[str, int]:
    """Return how many entries have each status."""
    counts = dict.fromkeys(sorted(_STATUSES), 0)
    for one in results:
        counts[one["result"]] += 1
    return counts


class _Said(NamedTuple):
    """What a rule said, as an entry tells it."""

    source: str
    policy: str
    rule: str
    message: str
    result: str
    scored: bool
    seconds: int
    properties: tuple[tuple[str, str], ...]
    category: str | None
    severity: str | None


def _entry(policy: Policy, result: RuleResult, seconds: int) -> Json:
    status = result.status.value
    unscored = result.status is RuleStatus.FAIL and not policy.scored
    severity = policy.annotations.get("policies.kyverno.io/severity")
    return _written(
        _Said(
            source=report_source(policy.kind),
            policy=policy.key,
            rule=result.rule.name,
            message=report_message(result, status),
            result="warn" if unscored else status,
            scored=policy.scored,
            seconds=seconds,
            properties=tuple(_properties(policy, result)),
            category=policy.annotations.get("policies.kyverno.io/category"),
            severity=severity if severity in SEVERITIES else None,
        )
    )


@lru_cache(maxsize=4096)
def _written(said: _Said) -> Json:
    """Return an entry; what is said of many objects in one second is one and the same.

    As a server writes them out, entries have no fields that are empty, nor `scored: false`.
    upstream: api/policyreport/v1alpha2/common.go `PolicyReportResult`
    """
    entry = {
        "source": said.source,
        "policy": said.policy,
        "rule": said.rule,
        "message": said.message,
        "result": said.result,
        "scored": said.scored,
        "timestamp": {"seconds": said.seconds, "nanos": 0},
        "properties": dict(said.properties),
        "category": said.category,
        "severity": said.severity,
    }
    return {name: value for name, value in entry.items() if value}


def _properties(policy: Policy, result: RuleResult) -> Iterator[tuple[str, str]]:
    yield from report_properties(policy, result).items()
    if result.generated:
        yield "generated-resources", "; ".join(_named(one) for one in result.generated)
    if result.targets:
        yield "patched-target", _named(result.targets[0].object)


def _named(obj: Mapping[str, Json]) -> str:
    """Return how properties name an object: `/v1, Kind=Secret Name=s Namespace=n`."""
    key = object_key(obj)
    group, version = split_api_version(key.api_version)
    named = f"{group}/{version}, Kind={key.kind} Name={key.name}"
    return f"{named} Namespace={key.namespace}" if key.namespace else named
