"""What reports name as the author of a result.

Source of the names: upstream pkg/utils/report (source.go, results.go).
"""

from collections.abc import Mapping
from types import MappingProxyType

_OLDER = "kyverno"
_SOURCES: Mapping[str, str] = MappingProxyType(
    {
        **{
            kind: f"Kyverno{kind}"
            for kind in (
                "GeneratingPolicy",
                "ImageValidatingPolicy",
                "MutatingPolicy",
                "ValidatingPolicy",
            )
        },
        **{kind: kind for kind in ("MutatingAdmissionPolicy", "ValidatingAdmissionPolicy")},
    }
)


def report_source(kind: str) -> str:
    """Return the source of the results of a policy of a kind."""
    return _SOURCES.get(kind.removeprefix("Namespaced"), _OLDER)
