"""Fields in which an object may differ from its manifest.

Keys are dotted paths. One counts as ignored where a pattern, with `*` for anything and one more at
its end, is found anywhere in it: so upstream reads them.
upstream: pkg/engine/resources/default-config.yaml of Kyverno, and k8s-manifest-sigstore's own.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from pathlib import Path
from types import MappingProxyType

from kyvsim.kubernetes.discovery import split_api_version
from kyvsim.kubernetes.objects import Json, object_key
from kyvsim.kubernetes.regexes import RegexError, compile_regex, is_found

_SIGNED = ("message", "signature", "certificate", "bundle", "resourceBundleRef")


@cache
def _defaults() -> Mapping[str, list[str]]:
    """Return the fields that never count, by kind; `*` for every kind."""
    file = Path(__file__).with_name("ignored_fields.json")
    return MappingProxyType(json.loads(file.read_bytes()))


def ignored_fields(obj: Json, bindings: Iterable[Json], domain: str) -> Callable[[str], bool]:
    """Return what says whether a key of the object counts, from the defaults and a rule's own."""
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
