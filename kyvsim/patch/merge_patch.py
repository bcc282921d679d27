"""JSON merge patches (RFC 7386)."""

from kyvsim.kubernetes.objects import Json


def merge_patch(target: Json, patch: Json) -> Json:
    """Return `target` changed by a merge patch: mappings are merged, None takes a field out."""
    if patch.__class__ is not dict:
        return patch
    merged = dict(target) if target.__class__ is dict else {}
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = merge_patch(merged.get(name), value)
    return merged
