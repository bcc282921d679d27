"""What is left of an object of a built-in kind once it has been through its Go type.

Fields without a value vanish: nulls, empty lists, empty maps of texts. Source of the rules: the
`omitempty` of k8s.io/api types; the few fields without it are named here.
"""

from kyvsim.kube.discovery import is_builtin
from kyvsim.kube.gvk import split_api_version
from kyvsim.kube.objects import Json, object_key

_TEXT_MAPS = frozenset(
    {"annotations", "binaryData", "data", "labels", "limits", "matchLabels", "nodeSelector"}
    | {"requests", "selector", "stringData"}
)
_KEPT_LISTS = frozenset({"containers", "items", "resources", "rules", "subsets", "verbs"})


def as_typed(obj: Json) -> Json:
    """Return an object without the fields that its type leaves out; custom kinds stay as sent."""
    key = object_key(obj)
    return (
        _without_empty(obj) if is_builtin(split_api_version(key.api_version)[0], key.kind) else obj
    )


def _without_empty(value: Json) -> Json:
    if value.__class__ is dict:
        left = {name: _without_empty(child) for name, child in value.items()}
        kept = {name: child for name, child in left.items() if not _vanishes(name, child)}
        same = len(kept) == len(value) and all(kept[name] is value[name] for name in kept)
        return value if same else kept
    if value.__class__ is list:
        items = [_without_empty(child) for child in value]
        same = all(item is child for item, child in zip(items, value, strict=True))
        return value if same else items
    return value


def _vanishes(name: str, value: Json) -> bool:
    if value is None:
        return True
    if value.__class__ is list:
        return not value and name not in _KEPT_LISTS
    return value.__class__ is dict and not value and name in _TEXT_MAPS
