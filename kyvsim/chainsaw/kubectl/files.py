"""The objects of `--filename`, each with the name of its file."""

import json

from kyvsim.chainsaw.kubectl.call import Call, KubectlError
from kyvsim.chainsaw.unsupported import require_simulated
from kyvsim.kubernetes.objects import Json, object_key, text_field

_SHOWN = 1_000


def from_files(call: Call) -> list[tuple[str, Json]]:
    """Return the objects of the files given; raise KubectlError where one cannot be read."""
    found: list[tuple[str, Json]] = []
    for name in call.invocation.values("filename"):
        objects, why = call.surroundings.objects(name, call.stdin)
        if why:
            raise KubectlError(f"error: {why}")
        shown = "STDIN" if name == "-" else name
        for obj in (one for document in objects for one in _listed(document)):
            _require_object(obj, shown)
            require_simulated(object_key(obj))
            found.append((shown, call.placed(obj)))
    if not found and "filename" in call.invocation.flags:
        raise KubectlError("error: no objects passed to apply")
    if not found:
        raise KubectlError("error: must specify one of -f and -k")
    return found


def _listed(document: Json) -> list[Json]:
    """Return the objects of a document: those of a List, or the one that it is."""
    items = document.get("items") if document.__class__ is dict else None
    if isinstance(items, list) and object_key(document).kind.endswith("List"):
        return items
    return [document]


def _require_object(obj: Json, name: str) -> None:
    """Raise KubectlError for what cannot be sent.

    Source of the texts: k8s.io/apimachinery, what reading unstructured objects returns.
    """
    if obj.__class__ is not dict:
        kinds = {list: "array", str: "string", bool: "bool"}
        kind = kinds.get(obj.__class__, "number")
        into = "Go value of type map[string]interface {}"
        text = f"json: cannot unmarshal {kind} into {into}"
        raise KubectlError(f"error: error parsing {name}: {text}")
    told = json.dumps(obj, separators=(",", ":"), ensure_ascii=False)[:_SHOWN]
    for field in ("kind", "apiVersion"):
        if not text_field(obj, field):
            missing = f"Object '{field[0].upper()}{field[1:]}' is missing in '{told}'"
            if field == "apiVersion":
                missing = f"Object 'apiVersion' is missing in '{told}'"
            raise KubectlError(f'error: unable to decode "{name}": {missing}')
    about = obj.get("metadata")
    texts = (about or {}) if about.__class__ is dict or about is None else {"name": 0}
    names = (texts.get(one, "") for one in ("name", "generateName", "namespace"))
    if any(one is not None and one.__class__ is not str for one in names):
        text = "json: cannot unmarshal the metadata into Go struct field ObjectMeta"
        raise KubectlError(f'error: unable to decode "{name}": {text}')
