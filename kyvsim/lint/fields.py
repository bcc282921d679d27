"""Deprecated fields of policies with rules, and misspelt annotations."""

from collections.abc import Iterator
from difflib import SequenceMatcher

from kyvsim.engine.compile.compiled import warn
from kyvsim.kubernetes.objects import Json
from kyvsim.languages.classic.autogen import ANNOTATION
from kyvsim.languages.classic.moved_fields import successor_of
from kyvsim.model.diagnostic import Diagnostic, Fix, Way, change
from kyvsim.model.policy import Policy
from kyvsim.model.source import Path

# Fields of a policy that another field has replaced.
#
# Looks at the document as written: what defaults fill in is nobody's choice. What Kyverno refuses
# by now (KV105) is not told here. upstream: api/kyverno/v1, the comments `Deprecated`

_ANY = "criteria under `any` or `all`"
_SPEC = (
    ("validationFailureAction", "`validate.failureAction` of each rule"),
    ("validationFailureActionOverrides", "`validate.failureActionOverrides` of each rule"),
    ("failurePolicy", "`spec.webhookConfiguration.failurePolicy`"),
    ("webhookTimeoutSeconds", "`spec.webhookConfiguration.timeoutSeconds`"),
    ("mutateExistingOnPolicyUpdate", "`mutate.mutateExistingOnPolicyUpdate` of each rule"),
    ("generateExisting", "`generate.generateExisting` of each rule"),
    ("schemaValidation", ""),
)
_BLOCK = tuple((name, _ANY) for name in ("resources", "subjects", "roles", "clusterRoles"))
_RESOURCES = (("name", "`names`"),)
_IMAGE = (
    ("image", "`imageReferences`"),
    ("key", "`attestors` with `keys`"),
    ("roots", "`attestors` with `keyless`"),
    ("subject", "`attestors` with `keyless`"),
    ("issuer", "`attestors` with `keyless`"),
    ("additionalExtensions", "`attestors` with `keyless`"),
    ("annotations", "`annotations` of each attestor"),
)
_ATTESTATION = (("predicateType", "`type`"),)

_Fields = tuple[tuple[str, str], ...]


def _unused_successor(policy: Policy, data: Json, path: Path) -> Fix | None:
    return successor_of(policy, data, path)


def deprecated_fields(policy: Policy) -> Iterator[Diagnostic]:
    """KV202: a field that still works and has been replaced, or has no effect any more."""
    spec = policy.document.data["spec"]
    for data, path, fields in _places(spec):
        for name, successor in fields:
            if data.get(name) is not None:
                remedy = f"use {successor}" if successor else "leave it out"
                text = f"field `{name}` is deprecated: {remedy}"
                fix = _unused_successor(policy, data, (*path, name))
                yield warn(policy.document, "KV202", text, (*path, name), fix=fix)


def _places(spec: Json) -> Iterator[tuple[Json, Path, _Fields]]:
    """Yield the mappings in which deprecated fields may stand, with their paths."""
    yield spec, ("spec",), _SPEC
    for index, rule in enumerate(spec.get("rules") or ()):
        path: Path = ("spec", "rules", index)
        for block in ("match", "exclude"):
            data = rule.get(block) or {}
            yield data, (*path, block), _BLOCK
            yield from _resources(data, (*path, block))
        for at, image in enumerate(rule.get("verifyImages") or ()):
            place = (*path, "verifyImages", at)
            yield image, place, _IMAGE
            for one, attestation in enumerate(image.get("attestations") or ()):
                yield attestation, (*place, "attestations", one), _ATTESTATION


def _resources(block: Json, path: Path) -> Iterator[tuple[Json, Path, _Fields]]:
    yield block.get("resources") or {}, (*path, "resources"), _RESOURCES
    for group in ("any", "all"):
        for index, one in enumerate(block.get(group) or ()):
            place = (*path, group, index, "resources")
            yield one.get("resources") or {}, place, _RESOURCES


# Annotations that nobody reads and that are a slip of one that is read.

_DESCRIPTIVE = tuple(
    f"policies.kyverno.io/{name}"
    for name in ("title", "category", "severity", "subject", "description", "minversion")
)
"""Annotations that describe a policy: nothing is judged by them."""
_ANNOTATIONS = (
    *_DESCRIPTIVE,
    "policies.kyverno.io/scored",
    "kyverno.io/kyverno-version",
    "kyverno.io/kubernetes-version",
    ANNOTATION,
)
_NEAR = 0.75
"""How like each part of a name must be to that of a known one, before and after the slash."""


def misspelt_annotations(policy: Policy) -> Iterator[Diagnostic]:
    """KV224: an annotation that is a slip of one that means something.

    upstream: api/kyverno/constants.go, pkg/utils/report/results.go, pkg/autogen
    """
    names = [
        one for one in policy.annotations if one not in _ANNOTATIONS and "kyverno" in one.lower()
    ]
    for name in names:
        meant = max(_ANNOTATIONS, key=lambda known: _likeness(name, known))
        if _likeness(name, meant) >= _NEAR and meant not in policy.annotations:
            path = ("metadata", "annotations", name)
            text = f"nobody reads the annotation `{name}`: did you mean `{meant}`?"
            yield warn(policy.document, "KV224", text, path, fix=_respelt(policy, path, meant))


def _likeness(name: str, known: str) -> float:
    """Return how like the less alike part of two names is."""
    pairs = zip(name.lower().partition("/"), known.partition("/"), strict=True)
    return min(SequenceMatcher(None, one, other).ratio() for one, other in pairs)


def _respelt(policy: Policy, path: Path, meant: str) -> "Fix | None":
    """Return what spells an annotation rightly, where nothing is judged by it."""
    if meant not in _DESCRIPTIVE:
        return None

    return Fix(f"use {meant}", (change(policy.document, Way.KEY, path, meant),))
