"""Objects of built-in kinds that an API server cannot read: a field has a wrong type.

What cannot be decoded is refused before anybody looks at it. Source of the texts: k8s.io/apiserver
pkg/endpoints/handlers (create.go, transformDecodeError), and encoding/json.
"""

from kyvsim.kubernetes.discovery import is_builtin, split_api_version
from kyvsim.kubernetes.objects import Json, text_field
from kyvsim.languages.classic.pod_security.go_structs import MisfitError, has_type, read_object
from kyvsim.simulator.server import errors
from kyvsim.simulator.server.request import ApiError

_REGISTRATION = "admissionregistration.k8s.io"
_DEFINITIONS = "apiextensions"
"""The package of definitions of custom resources has names of its own in the table of types."""


def refuse_unreadable(obj: Json) -> ApiError | None:
    """Return why an object of a built-in kind cannot be read as its type, or None."""
    problem = unreadable(obj)
    if not problem:
        return None
    kind = text_field(obj, "kind")
    version = split_api_version(text_field(obj, "apiVersion"))[1]
    text = f'{kind} in version "{version}" cannot be handled as a {kind}: {problem}'
    return ApiError(400, "BadRequest", text)


def refuse_change(obj: Json) -> ApiError | None:
    """Return why what a webhook has made of an object cannot be read, or None."""
    problem = unreadable(obj)
    return errors.internal(problem) if problem else None


def unreadable(obj: Json) -> str:
    """Return what is wrong with the types of an object's fields, in Go's words; "" for nothing."""
    kind = text_field(obj, "kind")
    group, version = split_api_version(text_field(obj, "apiVersion"))
    if not is_builtin(group, kind):
        return ""
    package = _DEFINITIONS if kind == "CustomResourceDefinition" else version
    if group == _REGISTRATION:
        package = "v1"  # earlier versions have the same fields
    if not has_type(f"{package}.{kind}"):
        return ""
    try:
        read_object(obj, f"{package}.{kind}")
    except MisfitError as error:
        return str(error).replace(f"{_DEFINITIONS}.", f"{version}.")
    return ""
