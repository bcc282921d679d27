"""What reports tell of violated controls, besides the message.

Source of the rules: upstream pkg/utils/report/results.go (`addPodSecurityProperties`) and
pkg/engine/handlers/validation/validate_pss.go (`addImages`).
"""

import json
from collections.abc import Iterator, Mapping, Sequence

from kyvsim.kubernetes.image import parse_image
from kyvsim.languages.classic.pod_security import ActiveCheck
from kyvsim.languages.classic.pod_security.exclusions import Violations
from kyvsim.languages.classic.pod_security.pod import Container, Violation

_WITHOUT_IMAGES = frozenset({"hostPorts", "hostProbesAndHostLifecycle"})
"""Checks whose details upstream does not look for containers in."""


def told_controls(
    standard: tuple[str, str], violated: Sequence[ActiveCheck], found: Violations
) -> Mapping[str, str]:
    """Return the properties of a failure: level and version, the controls and their images.

    The images are those of all that a check found, whether or not some of it is let pass.
    """
    level, version = standard
    told = [
        {"ID": one.id, "Name": one.control, "Images": _images(one.id, found[one.id])}
        for one in violated
    ]
    return {
        "standard": level,
        "version": version,
        "controls": ",".join(one.id for one in violated),
        "controlsJSON": json.dumps(told, separators=(",", ":"), ensure_ascii=False),
    }


def _images(check: str, violation: Violation) -> list[str] | None:
    """Return the images of the containers that a violation is about, None where it names none."""
    if check in _WITHOUT_IMAGES:
        return None
    named = dict.fromkeys(_image(one) for one in _containers(violation))
    return list(named) or None


def _containers(violation: Violation) -> Iterator[Container]:
    for finding in violation.findings:
        if finding.container is not None:
            yield finding.container


def _image(container: Container) -> str:
    try:
        return parse_image(container.data.get("image", "")).reference
    except ValueError:
        return container.name
