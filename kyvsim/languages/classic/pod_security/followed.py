"""What the checks of Pod security found, told one control after the other."""

import re
from collections.abc import Iterator

from kyvsim.kubernetes.pods import POD_SPEC_PATHS
from kyvsim.languages.classic.pod_security import ActiveCheck
from kyvsim.languages.classic.pod_security.exclusions import Violations
from kyvsim.languages.classic.pod_security.pod import Finding
from kyvsim.model.explanation import Step, StepKind, Value
from kyvsim.model.probe import Probe, tell
from kyvsim.model.source import Path

_PART = re.compile(r"\[(\d+)\]|\[([^\]]*)\]|([^.\[]+)")
_EXCUSED = "excluded, or let pass by an exception"


def tell_controls(
    checks: tuple[ActiveCheck, ...],
    found: Violations,
    left: Violations,
    *,
    kind: str,
    probe: Probe,
) -> None:
    """Tell of every control whether a Pod of an object of a kind keeps it.

    `found` is what the checks found, `left` what is left of it without what is let pass.
    """
    controls = tuple(_control(one, found, left, kind) for one in checks)
    placed = tuple(one._replace(place=probe.locate()) for one in controls)
    tell(probe, Step(StepKind.CONTROL, "all", answer=not left, steps=placed))


def _control(check: ActiveCheck, found: Violations, left: Violations, kind: str) -> Step:
    violation = found.get(check.id)
    if violation is None:
        return Step(StepKind.CONTROL, check.id, answer=True)
    passed = check.id not in left
    findings = (left.get(check.id) or violation).findings
    return Step(
        StepKind.CONTROL,
        check.id,
        answer=passed,
        note=_EXCUSED if passed else violation.reason,
        steps=tuple(_finding(one, kind) for one in findings),
    )


def _finding(finding: Finding, kind: str) -> Step:
    path = tuple(_path(finding.field, kind))
    value = list(finding.value) if isinstance(finding.value, tuple) else finding.value
    return Step(
        StepKind.FINDING,
        finding.field,
        found=None if finding.required or value == "" else Value(value),
        note="required" if finding.required else "forbidden",
        path=path,
        rooted=True,
    )


def _path(field: str, kind: str) -> Iterator[str | int]:
    """Yield the way to a Pod's field in an object of a kind."""
    spec: Path = POD_SPEC_PATHS.get(kind, ("spec",))
    first, *rest = _PART.finditer(field)
    yield from spec if first[0] == "spec" else (*spec[:-1], first[0])
    for part in rest:
        yield int(part[1]) if part[1] else part[2] or part[3]
