"""JSON patches in policies that are carried over to controllers of Pods: their paths stay.

upstream: pkg/cel/policies/mpol/autogen
"""

from collections.abc import Iterator

from kyvsim.engine.compile.compiled import warn
from kyvsim.languages.cel_advice.written import Written, selected
from kyvsim.model.diagnostic import Diagnostic


def unmoved_patches(written: Written) -> Iterator[Diagnostic]:
    """KV254: a JSON patch that is made for Pods, and works on their controllers too."""
    if not written.is_moved:
        return
    for one in written.expressions:
        is_patch = one.list_name == "mutations" and one.path[-2] == "jsonPatch"
        if is_patch and not any(selected(node) == "object.kind" for node in one.nodes()):
            text = (
                "the patch is not changed in what is derived for controllers of Pods: it writes "
                "to the same paths of a Deployment itself, not of its template (ask for "
                "`object.kind`, or set `spec.autogen.podControllers.controllers: []`)"
            )
            yield warn(written.policy.document, "KV254", text, one.path)
