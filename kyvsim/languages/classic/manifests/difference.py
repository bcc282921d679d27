"""What differs between a manifest and the object made from it.

upstream: github.com/sigstore/k8s-manifest-sigstore pkg/util/mapnode, pkg/k8smanifest
"""

import re
from collections.abc import Callable, Iterator
from types import MappingProxyType
from typing import NamedTuple

from kyvsim.kubernetes.go_text import sprint, to_json
from kyvsim.kubernetes.objects import Json

_INDEX = re.compile(r"\.\d+\.")
_GO_TYPES = MappingProxyType({str: "string", float: "float64", int: "float64", bool: "bool"})


class Difference(NamedTuple):
    """One key with two values; None where a side has none."""

    key: str
    before: Json
    after: Json


def differences(manifest: Json, obj: Json, ignored: Callable[[str], bool]) -> list[Difference]:
    """Return what differs and counts, by key.

    An element that only moved within its list is no difference, nor is an empty text in place of
    nothing, nor an image with the registry or tag that it has anyhow.
    """
    before, after = dict(_leaves(manifest, "")), dict(_leaves(obj, ""))
    typed, found = [], []
    for key in sorted(before.keys() | after.keys()):
        one = Difference(key, before.get(key), after.get(key))
        if one.before is None or one.after is None or one.before.__class__ is one.after.__class__:
            if one.before != one.after:
                found.append(one)
        else:
            typed.append(Difference(key, _typed(one.before), _typed(one.after)))
    kept = [one for one in found if not _moved(one, found) and "" not in _only_side(one)]
    told = sorted([*kept, *typed], key=lambda one: one.key)
    return [one for one in told if not _same_image(one) and not ignored(one.key)]


def told(found: list[Difference]) -> str:
    """Return differences as upstream's messages write them."""
    items = [
        {"key": one.key, "values": {"after": one.after, "before": one.before}} for one in found
    ]
    return to_json({"items": items})


def _leaves(node: Json, way: str) -> Iterator[tuple[str, Json]]:
    if node.__class__ is dict or node.__class__ is list:
        members = node.items() if node.__class__ is dict else enumerate(node)
        for name, member in members:
            yield from _leaves(member, f"{way}.{name}" if way else str(name))
    elif node is not None:
        yield way, node


def _typed(value: Json) -> str:
    kind = _GO_TYPES.get(value.__class__, "")
    return f"(type: {kind}) {value if kind == 'string' else f'%!s({kind}={sprint(value)})'}"


def _only_side(one: Difference) -> tuple[Json, ...]:
    """Return the one value where the other side has none."""
    return (one.after,) if one.before is None else (one.before,) if one.after is None else ()


def _moved(one: Difference, found: list[Difference]) -> bool:
    """Return whether another element of the same list has what this one lost or won."""
    if not _only_side(one) or not _INDEX.search(one.key):
        return False
    place = re.compile(r"\.\d+\.".join(re.escape(part) for part in _INDEX.split(one.key)))
    return any(
        (other.after, other.before) == (one.before, one.after) and place.search(other.key)
        for other in found
    )


def _same_image(one: Difference) -> bool:
    if not one.key.endswith("image") or one.before.__class__ is not str:
        return False
    return one.after in {f"docker.io/{one.before}", f"{one.before}:latest"}
