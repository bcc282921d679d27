"""`verifyImages`: signatures and attestations of images, and digests put in place of tags.

No registry is ever asked. What it would have said stands in the values file, by the reference of
the image with its registry and its tag, or its digest where it has one:

    images:
      ghcr.io/acme/app:1.0:
        digest: sha256:…                 # what the tag stands for
        signatures:                      # the valid ones; [] for an image that nobody signed
        - key: …                         # PEM, KMS URI or k8s://NAMESPACE/NAME
        - {issuer: …, subject: …}        # keyless
        - certificate: …                 # PEM
          annotations: {…}               # of the signature
        attestations:
        - {type: …, predicate: {…}, signatures: […]}

A question that this does not answer is an error that shows what to write. What was found is kept
in the object's annotations, where the checks of the validate phase look (`checks.py`).

Source of the rules: upstream pkg/engine/handlers/mutation/mutate_image.go,
pkg/engine/internal/imageverifier.go.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from kyvsim.engine.compile.compiled import (
    CompiledBody,
    Evaluation,
    Outcome,
    errored,
    failed,
    passed,
    skipped,
)
from kyvsim.engine.conditions import ConditionError
from kyvsim.engine.context import JSONContext
from kyvsim.jmespath import QueryError, Template, compile_template
from kyvsim.kubernetes.objects import Json
from kyvsim.languages.classic.images.attestations import (
    AttestationError,
    Wanted,
    check_attestations,
    compile_wanted,
)
from kyvsim.languages.classic.images.attestors import SignatureError, check_sets
from kyvsim.languages.classic.images.deny import Denials, compile_denials
from kyvsim.languages.classic.images.entries import entries_of, fits
from kyvsim.languages.classic.images.extract import compile_reader
from kyvsim.languages.classic.images.followed import followed_image
from kyvsim.languages.classic.images.matching import Image, matching
from kyvsim.languages.classic.images.metadata import known_before, with_verdicts
from kyvsim.languages.classic.images.recorded import NotRecordedError, recorded_data
from kyvsim.languages.classic.rule_type import RuleContext
from kyvsim.model.probe import Probe
from kyvsim.model.result import RuleStatus
from kyvsim.patch.json_patch import apply_json_patch

_VERDICTS = MappingProxyType({RuleStatus.PASS: "pass", RuleStatus.SKIP: "skip"})


class _Compiled(NamedTuple):
    """One rule's entries, ready to run."""

    context: RuleContext
    entries: Template
    """The entries without the conditions on attestations, whose variables wait for these."""
    wanted: tuple[tuple[Wanted, ...], ...]
    denials: Denials | None


class _Turn(NamedTuple):
    """One entry on one image."""

    entry: Mapping[str, Json]
    wanted: tuple[Wanted, ...]
    image: Image
    scope: JSONContext


def compile_verification(context: RuleContext) -> CompiledBody:
    """Return the body that a `verifyImages` rule has in its own phase."""
    system, raw = context.system, entries_of(context.rule.data)
    read = compile_reader(context.rule.data, system)
    entries = context.within("verifyImages")
    compiled = _Compiled(
        context,
        compile_template([_without_conditions(entry) for entry in raw], system),
        tuple(compile_wanted(one, entries.within(index)) for index, one in enumerate(raw)),
        compile_denials(raw, entries),
    )

    def evaluate(evaluation: Evaluation) -> Outcome | None:
        try:
            images = matching(raw, read(evaluation.object))
        except QueryError as error:
            return errored("failed to instantiate handler", error)
        try:
            entries = compiled.entries.render(evaluation.scope)
        except QueryError as error:
            return errored("failed to substitute variables", error)
        return _verify_all(compiled, entries, images, evaluation)

    return evaluate


def _without_conditions(entry: Json) -> Json:
    attestations = [
        {name: value for name, value in one.items() if name != "conditions"}
        for one in entry.get("attestations") or ()
    ]
    bare = {name: value for name, value in entry.items() if name != "validate"}
    return {**bare, "attestations": attestations} if attestations else bare


def _verify_all(
    compiled: _Compiled, entries: list[Json], images: list[Image], evaluation: Evaluation
) -> Outcome | None:
    policy, rule = compiled.context.policy, compiled.context.rule.name
    verify = _followed(compiled.context.probe)
    outcomes: list[Outcome] = []
    verdicts: dict[str, str] = {}
    digests: dict[str, str] = {}
    for entry, wanted in zip(entries, compiled.wanted, strict=True):
        attested = bool(entry.get("attestors") or entry.get("attestations"))
        for image in images:
            name = image["reference"]
            if known_before(evaluation.request, policy, rule, image):
                verdicts[name] = "pass"
                continue
            turn = _Turn(entry, wanted, image, _with_image(evaluation.scope, image))
            verdict = verify(turn, compiled) if attested else None
            digest, verdict, problem = _digest(turn, verdict)
            outcomes += [one for one in (problem, verdict) if one is not None]
            if digest:
                digests[image["jsonPointer"]] = f"{name}@{digest}"
                name = f"{image['registry']}/{image['path']}@{digest}"
            if verdict is not None and attested:
                verdicts[name] = _VERDICTS.get(verdict.status, "fail")
    if not outcomes:
        return None
    obj = _patched(evaluation.object, digests)
    if verdicts:
        obj = with_verdicts(obj, policy, rule, verdicts)
    first, *others = outcomes
    changed = obj if digests or verdicts else None
    return first._replace(object=changed, further=tuple(others))


def _followed(probe: Probe) -> Callable[["_Turn", _Compiled], Outcome]:
    """Return what verifies an image, as one that tells its verdict if anybody follows."""
    if probe.follower is None:
        return _verify

    return followed_image(_verify, lambda turn: turn.image, probe)


def _patched(obj: Json, digests: Mapping[str, str]) -> Json:
    operations = [
        {"op": "replace", "path": pointer, "value": image} for pointer, image in digests.items()
    ]
    return apply_json_patch(obj, operations)


def _with_image(scope: JSONContext, image: Image) -> JSONContext:
    names = ("reference", "referenceWithTag", "registry", "path", "name", "tag", "digest")
    return scope.layer({"image": {name: image.get(name, "") for name in names}})


def _verify(turn: _Turn, compiled: _Compiled) -> Outcome:
    entry, image = turn.entry, turn.image["reference"]
    if not fits(image, entry.get("imageReferences")) or fits(
        image, entry.get("skipImageReferences")
    ):
        policy, rule = compiled.context.policy.name, compiled.context.rule.name
        return skipped(f"skipping image reference image {image}, policy {policy} ruleName {rule}")
    try:
        return _verify_signatures(turn) or _verify_attestations(turn, compiled)
    except NotRecordedError as error:
        return errored(f"failed to verify image {image}", error)
    except SignatureError as error:
        return failed(f"failed to verify image {image}: {error}")
    except AttestationError as error:
        return failed(str(error))


def _verify_signatures(turn: _Turn) -> Outcome | None:
    """Return the verdict where signatures are all that is asked for."""
    entry, image = turn.entry, turn.image["reference"]
    if not entry.get("attestors"):
        return None
    data = recorded_data(image, turn.scope.outside, "signatures")
    check_sets(entry["attestors"], entry, data.signatures or ())
    if entry.get("attestations"):
        return None
    return passed(f"verified image signatures for {image}")


def _verify_attestations(turn: _Turn, compiled: _Compiled) -> Outcome:
    image = turn.image["reference"]
    data = recorded_data(image, turn.scope.outside, "attestations")
    given = data.attestations or ()
    scope = check_attestations(turn.entry, turn.wanted, given, turn.scope)
    if compiled.denials is None:
        if data.digest and not turn.image.get("digest"):
            image = f"{turn.image['registry']}/{turn.image['path']}@{data.digest}"
        return passed(f"verified image attestations for {image}")
    try:
        denied = compiled.denials(scope)
    except ConditionError as error:
        denied = f"failed to check deny conditions: {error}"
    if denied is not None:
        return failed(f"validation in verifyImages failed: {denied}")
    return passed(f"verifyImages validation is passed in {compiled.context.rule.name} rule")


def _digest(turn: _Turn, verdict: Outcome | None) -> tuple[str, Outcome | None, Outcome | None]:
    """Return the digest to put in place of a tag ("" for none), the verdict, and a problem."""
    if turn.entry.get("mutateDigest") is False or turn.image.get("digest"):
        return "", verdict, None
    try:
        data = recorded_data(turn.image["reference"], turn.scope.outside, "digest")
    except NotRecordedError as error:
        return "", verdict, errored("failed to update digest", error)
    return data.digest, verdict or passed("mutated image digest"), None
