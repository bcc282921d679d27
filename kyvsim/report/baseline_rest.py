"""What of a baseline a run has not met, and what is left of it.

Codes: KV093 a failure of the baseline that occurs no more.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from kyvsim.model.baseline import Baseline, Failure
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.policy import Policy
from kyvsim.report.known_failures import Met
from kyvsim.report.subject import key_title


class Rest(NamedTuple):
    """A baseline after a run, each failure with how many of it there are."""

    found: Mapping[Failure, int]
    """What the run has met, as far as it is known."""
    stale: Mapping[Failure, int]
    """What occurs no more, though the run looked at the object by the policy."""
    aside: Mapping[Failure, int]
    """What the run did not look at: of this it says nothing."""


def rest_of(baseline: Baseline, met: Met, policies: Iterable[Policy]) -> Rest:
    """Return what a run that looked at some objects by some policies leaves of a baseline."""
    keys = {one.key for one in policies}
    found: dict[Failure, int] = {}
    stale: dict[Failure, int] = {}
    aside: dict[Failure, int] = {}
    for failure, entry in baseline.entries.items():
        there = min(met.failures.get(failure, 0), entry.number)
        looked_at = failure.object in met.objects and failure.policy in keys
        missing = stale if looked_at else aside
        if there:
            found[failure] = there
        if there < entry.number:
            missing[failure] = entry.number - there
    return Rest(found, stale, aside)


def stale_remarks(baseline: Baseline, rest: Rest) -> Iterator[Diagnostic]:
    """Yield a warning for each failure of a baseline that occurs no more, in the file's order."""
    for failure, number in rest.stale.items():
        rule = "/".join(filter(None, (failure.policy, failure.rule)))
        entry = baseline.entries[failure]
        fewer = f" ({number} of {entry.number})" if entry.number > 1 else ""
        named = key_title(failure.object)
        text = f"stale: `{rule}` gives `{named}` no such {failure.result} any more{fewer}"
        way_out = f"`--baseline {baseline.file} --write-baseline {baseline.file}` drops it"
        yield Diagnostic("KV093", Severity.WARNING, f"{text}: {way_out}", entry.place)
