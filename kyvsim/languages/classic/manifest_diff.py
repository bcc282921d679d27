"""What differs between a manifest and the object made from it, without ignored fields.

upstream: github.com/sigstore/k8s-manifest-sigstore pkg/util/mapnode, pkg/k8smanifest;
pkg/engine/resources/default-config.yaml of Kyverno for the fields that are ignored
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from kyvsim.kubernetes.discovery import split_api_version
from kyvsim.kubernetes.go_text import sprint, to_json
from kyvsim.kubernetes.objects import Json, object_key
from kyvsim.kubernetes.regexes import RegexError, compile_regex, is_found

_INDEX = re.compile(r"\.\d+\.")
_GO_TYPES = MappingProxyType({str: "string", float: "float64", int: "float64", bool: "bool"})


class FieldDifference(NamedTuple):
    """One key with two values; None where a side has none."""

    key: str
    before: Json
    after: Json


def differences(manifest: Json, obj: Json, ignored: Callable[[str], bool]) -> list[FieldDifference]:
    """Return what differs and counts, by key.

    An element that only moved within its list is not a difference, nor an empty string instead of
    nothing, nor an image with the registry or tag that it has anyhow.
    """
    before, after = dict(_leaves(manifest, "")), dict(_leaves(obj, ""))
    typed, found = [], []
    for key in sorted(before.keys() | after.keys()):
        one = FieldDifference(key, before.get(key), after.get(key))
        if one.before is None or one.after is None or one.before.__class__ is one.after.__class__:
            if one.before != one.after:
                found.append(one)
        else:
            typed.append(FieldDifference(key, _typed(one.before), _typed(one.after)))
    kept = [one for one in found if not _moved(one, found) and "" not in _only_side(one)]
    diff_text = sorted([*kept, *typed], key=lambda one: one.key)
    return [one for one in diff_text if not _same_image(one) and not ignored(one.key)]


def diff_text(found: list[FieldDifference]) -> str:
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


def _only_side(one: FieldDifference) -> tuple[Json, ...]:
    """Return the one value where the other side has none."""
    return (one.after,) if one.before is None else (one.before,) if one.after is None else ()


def _moved(one: FieldDifference, found: list[FieldDifference]) -> bool:
    """Return whether another element of the same list has what this one lost or won."""
    if not _only_side(one) or not _INDEX.search(one.key):
        return False
    place = re.compile(r"\.\d+\.".join(re.escape(part) for part in _INDEX.split(one.key)))
    return any(
        (other.after, other.before) == (one.before, one.after) and place.search(other.key)
        for other in found
    )


def _same_image(one: FieldDifference) -> bool:
    if not one.key.endswith("image") or one.before.__class__ is not str:
        return False
    return one.after in {f"docker.io/{one.before}", f"{one.before}:latest"}


# Fields in which an object may differ from its manifest.
#
# Keys are dotted paths. One counts as ignored where a pattern, with `*` for anything and one more
# at its end, is found anywhere in it: so upstream reads them.
#
# Source of the rules: upstream pkg/engine/resources/default-config.yaml of Kyverno, and
# k8s-manifest-sigstore's own.

_SIGNED = ("message", "signature", "certificate", "bundle", "resourceBundleRef")


@cache
def _defaults() -> Mapping[str, list[str]]:
    """Return the fields that never count, by kind; `*` for every kind."""
    file = Path(__file__).with_name("ignored_fields.json")
    return MappingProxyType(json.loads(file.read_bytes()))


def ignored_fields(obj: Json, bindings: Iterable[Json], domain: str) -> Callable[[str], bool]:
    """Return a predicate: whether a key of the object is ignored, by default or by the rule."""
    key = object_key(obj)
    defaults = _defaults()
    fields = [*defaults["*"], *defaults.get(key.kind, ())]
    fields += [f"metadata.annotations.{domain}/{name}*" for name in _SIGNED]
    for binding in bindings:
        objects = binding.get("objects") or ()
        if not objects or any(_names(one, obj) for one in objects):
            fields += binding.get("fields") or ()
    return _any_of(fields)


def _any_of(fields: Iterable[str]) -> Callable[[str], bool]:
    tests: list[Callable[[str], bool]] = []
    for field in fields:
        try:
            tests.append(partial(is_found, compile_regex(f"{field}*".replace("*", ".*"))))
        except RegexError:
            tests.append(field.__eq__)
    return lambda key: any(test(key) for test in tests)


def _names(reference: Json, obj: Json) -> bool:
    key = object_key(obj)
    group, version = split_api_version(key.api_version)
    parts = {
        "group": group,
        "version": version,
        "kind": key.kind,
        "name": key.name,
        "namespace": key.namespace,
    }
    return all(_fits((reference.get(name) or "").strip(), text) for name, text in parts.items())


def _fits(pattern: str, text: str) -> bool:
    if pattern in {"", "*", text} or (pattern == "-" and not text):
        return True
    if pattern.endswith("*"):
        return text.startswith(pattern.rstrip("*"))
    return "," in pattern and any(_fits(part.strip(), text) for part in pattern.split(","))
