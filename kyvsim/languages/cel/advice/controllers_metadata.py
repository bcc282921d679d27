"""Metadata that Pods have and the templates of their controllers do not.

In what is derived for controllers, `object.metadata` is the metadata of the Pod's template.
upstream: pkg/cel/autogen
"""

from collections.abc import Iterator

from kyvsim.engine.compile.compiled import warn
from kyvsim.languages.cel_advice.written import Written, selected
from kyvsim.model.diagnostic import Diagnostic

_OF_OBJECTS = ("name", "generateName", "uid", "ownerReferences")
_PATHS = frozenset(f"object.metadata.{name}" for name in _OF_OBJECTS)


def controllers_metadata(written: Written) -> Iterator[Diagnostic]:
    """KV244: metadata of Pods that templates do not have."""
    if not written.is_derived:
        return
    for one in written.expressions:
        found = dict.fromkeys(name for node in one.nodes() if (name := selected(node)) in _PATHS)
        for name in found:
            if written.asks_for(name):
                continue
            field = name.rpartition(".")[2]
            text = (
                f"`{name}` has no value in what is derived for the controllers of Pods: there it is"
                f" `object.spec.template.metadata.{field}`, which templates leave out (ask with "
                f"`has`, or set `spec.autogen.podControllers.controllers: []`)"
            )
            yield warn(written.policy.document, "KV244", text, one.path)
