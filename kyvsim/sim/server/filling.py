"""Filling in fields that are not there; a null is none, data of another shape stays as it is."""

from collections.abc import Callable, Mapping

from kyvsim.kube.objects import Json


def filled(data: Json, defaults: Mapping[str, Json]) -> Json:
    """Return a mapping with the fields that it lacks."""
    if data.__class__ is not dict:
        return data
    lacking = {name: value for name, value in defaults.items() if data.get(name) is None}
    return {**data, **lacking} if lacking else data


def changed(data: Json, name: str, change: Callable[[Json], Json]) -> Json:
    """Return a mapping with one field changed, if it has it."""
    if data.__class__ is not dict or data.get(name) is None:
        return data
    return {**data, name: change(data[name])}


def each(items: Json, change: Callable[[Json], Json]) -> Json:
    """Return a list with each mapping in it changed."""
    if items.__class__ is not list:
        return items
    return [change(one) if one.__class__ is dict else one for one in items]
