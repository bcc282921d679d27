"""Lists and maps that structured merges replace as a whole, set without server-side apply.

upstream: k8s.io/apiserver pkg/admission/plugin/policy/mutating/patch/smd.go
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from kyvsim.engine.compile.compiled import warn
from kyvsim.languages.cel_advice.matched_kinds import changed_types, is_atomic
from kyvsim.languages.cel_advice.set_fields import set_fields
from kyvsim.languages.cel_advice.written import Written
from kyvsim.model.diagnostic import Diagnostic

_WAYS: Mapping[str, str] = MappingProxyType(
    {
        "MutatingPolicy": "set `spec.evaluation.useServerSideApply: true`, or write a JSON patch",
        "MutatingAdmissionPolicy": "write a JSON patch",
    }
)


def atomic_fields(written: Written) -> Iterator[Diagnostic]:
    """KV258: an apply configuration that sets what it must not."""
    types = changed_types(written)
    if not types or (written.spec.get("evaluation") or {}).get("useServerSideApply"):
        return
    for one in written.expressions:
        for name, found in set_fields(one, types):
            if all(kind is not None and is_atomic(kind) for kind in found):
                text = (
                    f"`{name}` cannot be set: it is replaced as a whole, and where it is set the "
                    f"policy ends in an error ({_WAYS[written.kind]})"
                )
                yield warn(written.policy.document, "KV258", text, one.path)
