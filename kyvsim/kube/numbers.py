"""Numbers of plain data after a trip through JSON text."""

from kyvsim.kube.objects import Json


def with_floats(value: Json) -> Json:
    """Return `value` with every int a float; parts without ints are shared, not copied.

    That is what Go's decoder makes of numbers where no type is asked for.
    """
    kind = value.__class__
    if kind is int:
        return float(value)
    if kind is dict:
        changed = {key: with_floats(item) for key, item in value.items()}
        return changed if any(changed[key] is not value[key] for key in value) else value
    if kind is list:
        items = [with_floats(item) for item in value]
        return items if any(new is not old for new, old in zip(items, value, strict=True)) else value
    return value
