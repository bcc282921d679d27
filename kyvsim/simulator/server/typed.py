"""What is left of an object of a built-in kind once it has been through its Go type.

Fields without a value vanish: nulls, empty lists, empty maps of texts. Source of the rules: the
`omitempty` of k8s.io/api types; the few fields without it are named here.
"""

from operator import is_

from kyvsim.kubernetes.discovery import is_builtin, split_api_version
from kyvsim.kubernetes.objects import Json, object_key

_HOLDERS: frozenset[type] = frozenset({dict, list})
_TEXT_MAPS = frozenset(
    {"annotations", "binaryData", "data", "labels", "limits", "matchLabels", "nodeSelector"}
    | {"requests", "stringData"}
)
_SELECTS_BY_LABELS = frozenset({"ReplicationController", "Service"})
"""Kinds whose `selector` is a map of texts; elsewhere it is a LabelSelector, which may be empty."""
_WITH_SELECTOR = _TEXT_MAPS | {"selector"}
_KEPT_LISTS = frozenset({"containers", "items", "resources", "rules", "subsets", "verbs"})


def as_typed(obj: Json) -> Json:
    """Return an object without the fields that its type leaves out; custom kinds stay as sent."""
    key = object_key(obj)
    if not is_builtin(split_api_version(key.api_version)[0], key.kind):
        return obj
    return _without_empty(obj, _WITH_SELECTOR if key.kind in _SELECTS_BY_LABELS else _TEXT_MAPS)


def _without_empty(value: Json, text_maps: frozenset[str]) -> Json:
    if value.__class__ is dict:
        kept, same = {}, True
        for name, child in value.items():
            left = _without_empty(child, text_maps) if child.__class__ in _HOLDERS else child
            if left is None or (not left and _vanishes(name, left, text_maps)):
                same = False
                continue
            kept[name] = left
            same = same and left is child
        return value if same else kept
    if value.__class__ is list:
        items = [_without_empty(child, text_maps) for child in value]
        return value if all(map(is_, items, value)) else items
    return value


def _vanishes(name: str, value: Json, text_maps: frozenset[str]) -> bool:
    """Return whether a field is left out that holds nothing: an empty list or map, 0 or ""."""
    if value.__class__ is list:
        return name not in _KEPT_LISTS
    return value.__class__ is dict and name in text_maps
