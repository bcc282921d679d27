"""Verdicts about images, kept in annotations of the object for the checks that come later.

upstream: pkg/engine/api/imageverifymetadata.go, pkg/engine/utils/image.go
"""

import json
from collections.abc import Mapping

from kyvsim.kubernetes.objects import Json, annotations, metadata
from kyvsim.model.policy import Policy
from kyvsim.model.request import AdmissionRequest, Operation

_PLAIN = "kyverno.io/verify-images"
_SCOPED = "kyverno.io/verify-images-scoped"
_GOOD = frozenset({"pass", "skip"})


class MetadataError(Exception):
    """An annotation that is no record of verdicts."""


def verdict_of(obj: Json, policy: Policy, rule: str, image: str) -> str:
    """Return `pass`, `skip` or `fail`: what the object's record says of an image.

    Raises `MetadataError` where there is a record that nobody can read.
    """
    kept = annotations(obj).get(_SCOPED)
    if kept is None:
        return "fail"
    try:
        found: Json = json.loads(kept)
    except ValueError as error:
        raise MetadataError(f"failed to parse scoped image metadata: {error}") from error
    for step in ("policies", _key(policy), rule, image):
        found = found.get(step) if found.__class__ is dict else None
    return found if found.__class__ is str else "fail"


def known_before(
    request: AdmissionRequest, policy: Policy, rule: str, image: Mapping[str, Json]
) -> bool:
    """Return whether an UPDATE leaves in place an image that the old object's record passes."""
    if request.operation is not Operation.UPDATE or request.old_object is None:
        return False
    pointer = image["jsonPointer"]
    if _at(request.old_object, pointer) != _at(request.object, pointer):
        return False
    try:
        return verdict_of(request.old_object, policy, rule, image["reference"]) in _GOOD
    except MetadataError:
        return False


def with_verdicts(obj: Json, policy: Policy, rule: str, verdicts: Mapping[str, str]) -> Json:
    """Return the object with a rule's verdicts put into its record.

    Those of other policies stay, as the admission controller leaves them.
    """
    given = annotations(obj)
    policies = dict(_mapping(_read(given.get(_SCOPED)).get("policies")))
    rules = dict(_mapping(policies.get(_key(policy))))
    rules[rule] = {**_mapping(rules.get(rule)), **verdicts}
    policies[_key(policy)] = rules
    plain = {**_read(given.get(_PLAIN)), **verdicts}
    kept = {_PLAIN: _text(plain), _SCOPED: _text({"version": 1, "policies": policies})}
    return {**obj, "metadata": {**metadata(obj), "annotations": {**given, **kept}}}


def _key(policy: Policy) -> str:
    return f"{policy.namespace}/{policy.name}"


def _text(value: Json) -> str:
    return json.dumps(value, separators=(",", ":"), sort_keys=True)


def _read(text: str | None) -> Mapping[str, Json]:
    try:
        return _mapping(json.loads(text or "{}"))
    except ValueError:
        return {}


def _mapping(value: Json) -> Mapping[str, Json]:
    return value if value.__class__ is dict else {}


def _at(node: Json, pointer: str) -> Json:
    for step in pointer.split("/")[1:]:
        if node.__class__ is list and step.isdecimal():
            node = node[int(step)] if int(step) < len(node) else None
        else:
            node = _mapping(node).get(step)
    return node
