"""Reading a patched object back: whole floats become ints, and it must still be an object.

upstream: `pkg/engine/mutate/mutation.go` reads the patched JSON text with apimachinery's
`UnstructuredJSONScheme`, which makes an int64 of every number written without fraction and exponent
that fits, and refuses what has no kind.
"""

from kyvsim.kube.go_text import to_json
from kyvsim.kube.numbers import whole_where_exact
from kyvsim.kube.objects import Json, text_field
from kyvsim.patch.errors import UnreadableObjectError
from kyvsim.patch.known_parts import Known, whole_parts


def read_back(patched: Json) -> Json:
    """Return the object that a patched document is, with whole numbers as ints.

    Raises UnreadableObjectError for what is no object, has no kind, or no proper apiVersion.
    """
    if patched.__class__ is not dict:
        message = "json: cannot unmarshal array into Go value of type map[string]interface {}"
        raise UnreadableObjectError(message)
    if not text_field(patched, "kind") or text_field(patched, "apiVersion").count("/") > 1:
        raise UnreadableObjectError(f"Object 'Kind' is missing in '{to_json(patched)}'")
    return _with_whole_numbers(patched, whole_parts())


def _with_whole_numbers(value: Json, known: Known) -> Json:
    """Return a map or list with whole floats as ints; parts that are `known` are not looked at."""
    if id(value) in known:
        return value
    is_map = value.__class__ is dict
    changed: dict[str | int, Json] = {}
    for key, item in value.items() if is_map else enumerate(value):
        kind = item.__class__
        if kind is dict or kind is list:
            new = _with_whole_numbers(item, known)
        elif kind is float:
            new = whole_where_exact(item)
        else:
            continue
        if new is not item:
            changed[key] = new
    if changed:
        value = value.copy()
        for place, new in changed.items():
            value[place] = new
    known[id(value)] = value
    return value
