"""`diff`: two runs of `apply` over the same resources, compared one resource after the other."""

from collections.abc import Iterator
from typing import Any

from kyvsim.api.apply import open_application
from kyvsim.api.inputs import ApplyInputs
from kyvsim.api.system import own_system
from kyvsim.load.documents import Loaded
from kyvsim.load.resources import load_resources
from kyvsim.model.comparison import ResourceDifference
from kyvsim.report.diff import DifferenceCounts, RunComparison, compile_differences
from kyvsim.report.run import Run


def open_comparison(
    old: ApplyInputs, new: ApplyInputs, stdin: bytes | None = None, *, words: bool = False
) -> RunComparison:
    """Return what two sets of policies say otherwise of the same resources, lazily.

    The inputs differ in their policies, or in what is supposed of requests. Both see the same time,
    and the same resources, which are read once: nobody changes what is loaded. With
    `words` other messages of the same verdict are a difference, too.
    """
    now = old.now or own_system().clock.now()
    found: list[Loaded] = []

    def loaded(*given: Any, **named: Any) -> Loaded:
        if not found:
            found.append(load_resources(*given, **named))
        return found[0]

    before, after = (open_application(one._replace(now=now), stdin, loaded) for one in (old, new))
    names = [
        ", ".join(str(getattr(path, "name", path)) for path in one.policies) for one in (old, new)
    ]
    seen = DifferenceCounts()
    return RunComparison(
        names=(
            names[0],
            names[1] + (", with the request options" if old.what_if != new.what_if else ""),
        ),
        old=before,
        new=after,
        resources=_compared(before, after, seen, words=words),
        seen=seen,
    )


def _compared(
    old: Run, new: Run, seen: DifferenceCounts, *, words: bool
) -> Iterator[ResourceDifference]:
    """Yield what differs of each resource; nothing where one of the sets could not be applied."""
    if not (old.applied and new.applied):
        return
    difference = compile_differences(
        (old.policies, new.policies), seen, (old.explain, new.explain), words=words
    )
    for one, other in zip(old.responses, new.responses, strict=True):
        yield difference(one, other)
