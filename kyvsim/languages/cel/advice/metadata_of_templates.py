"""Metadata that a mutation writes as an object: on controllers of Pods the type is another one.

What is derived puts the whole object into the template, and leaves the names of types inside.
upstream: pkg/cel/policies/mpol/autogen
"""

from collections.abc import Iterator

from kyvsim.cel.nodes import Node, StructLiteral
from kyvsim.engine.compile.compiled import warn
from kyvsim.languages.cel_advice.written import Written
from kyvsim.model.diagnostic import Diagnostic


def metadata_of_templates(written: Written) -> Iterator[Diagnostic]:
    """KV253: metadata that a mutation writes as a typed object, and variants too."""
    if not written.is_moved:
        return
    for one in written.expressions:
        is_object = one.list_name == "mutations" and one.path[-2] == "applyConfiguration"
        if is_object and _writes_metadata(one.root):
            text = (
                "this ends in an error on every controller of Pods: in what is derived for them "
                "`Object.metadata` stands where `Object.spec.template.metadata` is wanted (set "
                "`spec.autogen.podControllers.controllers: []`, and match them in a policy of "
                "their own)"
            )
            yield warn(written.policy.document, "KV253", text, one.path)


def _writes_metadata(root: Node) -> bool:
    if not isinstance(root, StructLiteral) or root.type_name != "Object":
        return False
    return any(
        one.name == "metadata" and isinstance(one.value, StructLiteral) for one in root.fields
    )
