"""What an API server refuses in definitions of custom resources, as far as others rely on it.

An API server also wants schemas and a version to store; nothing here hangs on these.
Source of the rules: k8s.io/apiextensions-apiserver pkg/apis/apiextensions/validation.
"""

from collections.abc import Iterator

from kyvsim.kube.objects import Json, text_field

_NEEDED = ("group", "scope")
_NEEDED_NAMES = ("plural", "kind")


def definition_problems(obj: Json) -> Iterator[str]:
    """Yield what a definition lacks to be served."""
    spec = obj.get("spec")
    names = spec.get("names") if spec.__class__ is dict else None
    for name in _NEEDED:
        if not text_field(spec, name):
            yield f"spec.{name}: Required value"
    for name in _NEEDED_NAMES:
        if not text_field(names, name):
            yield f"spec.names.{name}: Required value"
    written = spec.get("versions") if spec.__class__ is dict else None
    versions = written if written.__class__ is list else []
    for index, one in enumerate(versions):
        if not text_field(one, "name"):
            yield f"spec.versions[{index}].name: Required value"
