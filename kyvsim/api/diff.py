"""`diff`: compares two runs of `apply` on the same resources, resource by resource."""

from collections.abc import Iterator
from typing import Any

from kyvsim.api.apply import open_application
from kyvsim.api.inputs import ApplyInputs, name_of
from kyvsim.api.system import own_system
from kyvsim.load.documents import Loaded
from kyvsim.load.resources import load_resources
from kyvsim.model.comparison import ResourceDifference
from kyvsim.report.diff import DifferenceCounts, RunComparison, compile_differences
from kyvsim.report.run import Run


def open_comparison(
    old: ApplyInputs, new: ApplyInputs, stdin: bytes | None = None, *, words: bool = False
) -> RunComparison:
    """Return the differences between two policy sets on the same resources, lazily.

    The inputs differ in their policies, or in the request options. Both use the same time and the
    same resources, which are read once. With `words`, different messages are differences.
    """
    now = old.now or own_system().clock.now()
    cached: list[Loaded] = []

    def loaded(*given: Any, **named: Any) -> Loaded:
        if not cached:
            cached.append(load_resources(*given, **named))
        return cached[0]

    opened = (open_application(one._replace(now=now), stdin, loaded) for one in (old, new))
    # Which side skipped everything is among the differences.
    before, after = (run._replace(skip_reasons=tuple) for run in opened)
    names = [", ".join(map(name_of, inputs.policies)) for inputs in (old, new)]
    seen = DifferenceCounts()
    return RunComparison(
        names=(
            names[0],
            names[1] + (", with the request options" if old.what_if != new.what_if else ""),
        ),
        old=before,
        new=after,
        resources=_compared(before, after, seen, words=words),
        counts=seen,
    )


def _compared(
    old: Run, new: Run, seen: DifferenceCounts, *, words: bool
) -> Iterator[ResourceDifference]:
    """Yield the difference of each resource; nothing if a policy set could not be applied."""
    if not (old.applied and new.applied):
        return
    difference = compile_differences(
        (old.policies, new.policies), seen, (old.explain, new.explain), words=words
    )
    for response, other in zip(old.responses, new.responses, strict=True):
        yield difference(response, other)
