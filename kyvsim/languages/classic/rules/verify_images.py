"""`verifyImages`: checks signatures and attestations of images, and replaces tags by digests.

A rule runs in two phases: in its own it verifies images and pins digests, in the validate phase
it checks `verifyDigest` and `required`. kyvsim is offline: the data of a registry are in the
values file, under the image's reference with registry and tag, or digest:

    images:
      ghcr.io/acme/app:1.0:
        digest: sha256:…                 # the digest of the tag
        signatures:                      # the valid ones; [] for an image without signatures
        - key: …                         # PEM, KMS URI or k8s://NAMESPACE/NAME
        - {issuer: …, subject: …}        # keyless
        - certificate: …                 # PEM
          annotations: {…}               # of the signature
        attestations:
        - {type: …, predicate: {…}, signatures: […]}

Missing data is an error that shows the section to add.
Source of the rules: upstream pkg/engine/handlers/mutation/mutate_image.go,
pkg/engine/handlers/validation/validate_image.go, pkg/engine/internal/imageverifier.go.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple, TypeAlias

from kyvsim.engine.compile.compiled import (
    CompiledBody,
    Evaluation,
    Outcome,
    errored,
    failed,
    passed,
    skipped,
)
from kyvsim.engine.conditions import ConditionError, compile_conditions
from kyvsim.engine.context import JSONContext
from kyvsim.jmespath import QueryError, Template, compile_template
from kyvsim.kubernetes.objects import Json, KubernetesObject, annotations, metadata, value_at
from kyvsim.languages.classic.images import (
    AttestationError,
    Conditions,
    Image,
    SignatureError,
    check_attestations,
    check_set,
    compile_attestations,
    compile_concerns,
    compile_reader,
    image_fits,
    matching,
)
from kyvsim.languages.classic.rule_type import RuleContext, RuleType, compile_denial_message
from kyvsim.model.explanation import Step, StepKind
from kyvsim.model.policy import Policy, RuleFacts
from kyvsim.model.ports import ExternalData
from kyvsim.model.request import AdmissionRequest, Operation
from kyvsim.model.result import Phase, RuleStatus
from kyvsim.model.tracing import trace_step, traced
from kyvsim.model.values import ImageData
from kyvsim.patch.json_patch import apply_json_patch
from kyvsim.policy.images import ImageVerification, read_image_verification
from kyvsim.policy.rule import PolicyNode, RuleNode, without_checks

# Results for images, stored in annotations of the object for the validate phase.
#
# Source of the rules: upstream pkg/engine/api/imageverifymetadata.go, pkg/engine/utils/image.go

_PLAIN = "kyverno.io/verify-images"
_SCOPED = "kyverno.io/verify-images-scoped"


class _MetadataError(Exception):
    """An annotation without valid image results."""


def _verdict_of(obj: object, policy: Policy, rule: str, image: str) -> str:
    """Return `pass`, `skip` or `fail`: the recorded result for an image.

    Raises `_MetadataError` if the record cannot be read.
    """
    kept = annotations(obj).get(_SCOPED)
    if kept is None:
        return "fail"
    try:
        found: object = json.loads(kept)
    except ValueError as error:
        raise _MetadataError(f"failed to parse scoped image metadata: {error}") from error
    found = value_at(found, ("policies", f"{policy.namespace}/{policy.name}", rule, image))
    return found if found.__class__ is str else "fail"


def _known_before(
    request: AdmissionRequest, policy: Policy, rule: str, image: Mapping[str, Json]
) -> bool:
    """Return whether an UPDATE keeps an image that passed according to the old object's record."""
    if request.operation is not Operation.UPDATE or request.old_object is None:
        return False
    pointer = image["jsonPointer"]
    if _at(request.old_object, pointer) != _at(request.object, pointer):
        return False
    try:
        return _verdict_of(request.old_object, policy, rule, image["reference"]) in {"pass", "skip"}
    except _MetadataError:
        return False


def _with_verdicts(
    obj: KubernetesObject, policy: Policy, rule: str, verdicts: Mapping[str, str]
) -> Json:
    """Return the object with a rule's image results added to its record.

    Results of other policies are kept, as in the admission controller.
    """
    given = annotations(obj)
    plain, scoped = map(_read_record, (given.get(_PLAIN), given.get(_SCOPED)))
    policies = dict(_mapping(scoped.get("policies")))
    rules = dict(_mapping(policies.get(f"{policy.namespace}/{policy.name}")))
    rules[rule] = {**_mapping(rules.get(rule)), **verdicts}
    policies[f"{policy.namespace}/{policy.name}"] = rules
    records = {_PLAIN: {**plain, **verdicts}, _SCOPED: {"version": 1, "policies": policies}}
    kept = {
        name: json.dumps(record, separators=(",", ":"), sort_keys=True)
        for name, record in records.items()
    }
    return {**obj, "metadata": {**metadata(obj), "annotations": {**given, **kept}}}


def _read_record(text: str | None) -> Mapping[str, Json]:
    try:
        return _mapping(json.loads(text or "{}"))
    except ValueError:
        return {}


def _mapping(value: object) -> Mapping[str, Json]:
    return value if value.__class__ is dict else {}


def _at(node: object, pointer: str) -> Json:
    for step in pointer.split("/")[1:]:
        if node.__class__ is list and step.isdecimal():
            node = node[int(step)] if int(step) < len(node) else None
        else:
            node = _mapping(node).get(step)
    return node


class _NotRecordedError(Exception):
    """Registry data of an image that the values file does not contain."""


def _recorded_data(image: str, external: ExternalData, *parts: str) -> ImageData:
    """Return the recorded data of an image, which must include `parts`.

    Raises `_NotRecordedError`, with the section of a values file to add, if one is missing.
    """
    found = external.mocks.images.get(image)
    if found is not None and all(getattr(found, part) not in (None, "") for part in parts):
        return found
    example: dict[str, object] = {"digest": "sha256:…", "signatures": [], "attestations": []}
    missing = {part: example[part] for part in parts}
    raise _NotRecordedError(
        "kyvsim is offline: add image metadata under `images:` in the values file, for example "
        f"images: {json.dumps({image: missing}, ensure_ascii=False)}"
    )


# `validate.deny` in `verifyImages`: conditions on attestations that deny all images.
#
# Source of the rules: upstream pkg/engine/internal/imageverifier.go (`validateDeny`,
# `getDenyMessage`)

Denials: TypeAlias = Callable[[JSONContext], str | None]
"""Returns the message of the first entry that denies the image; raises `ConditionError`."""


def _compile_denials(entries: Iterable[ImageVerification], context: RuleContext) -> Denials | None:
    """Return a function that finds the first entry that denies, or None if no entry can."""
    system = context.system
    blocks = [entry.validate for entry in entries if entry.validate]
    denials = []
    for block in blocks:
        # An empty `deny` is ignored here.
        if block.deny is not None and block.deny.conditions is not None:
            trace = context.trace.to(block.deny.conditions.path)
            conditions = compile_conditions(block.deny.conditions, system, trace)
            bare = "validation error: imageVerify  failed"
            message = compile_denial_message(context, block.message, bare)
            denials.append((conditions, message))

    def first(scope: JSONContext) -> str | None:
        for conditions, message in denials:
            result = conditions(scope)
            if result.met:
                return message(scope, result.messages)
        return None

    return first if blocks else None


def _image_step(image: Mapping[str, Json], outcome: Outcome) -> Step:
    steps = image["jsonPointer"].split("/")[1:]
    return Step(
        StepKind.IMAGE,
        str(image["reference"]),
        answer=outcome.status,
        note=outcome.message,
        path=tuple(int(step) if step.isdecimal() else step for step in steps),
        rooted=True,
    )


class _Compiled(NamedTuple):
    context: RuleContext
    entries: Template
    """The entries without the conditions on attestations, whose variables are replaced later."""
    conditions: tuple[tuple[Conditions | None, ...], ...]
    """The conditions on the attestations of each entry."""
    denials: Denials | None


class _ImageCheck(NamedTuple):
    entry: ImageVerification
    conditions: tuple[Conditions | None, ...]
    image: Image
    scope: JSONContext


def _compile_verification(context: RuleContext) -> CompiledBody:
    system, entries = context.system, context.rule.tree.verify_images or ()
    read = compile_reader(context.rule.tree, system)
    compiled = _Compiled(
        context,
        compile_template([without_checks(one.data) for one in entries], system),
        tuple(compile_attestations(one, context) for one in entries),
        _compile_denials(entries, context),
    )

    def evaluate(evaluation: Evaluation) -> Outcome | None:
        try:
            images = matching(entries, read(evaluation.object))
        except QueryError as error:
            return errored("failed to instantiate handler", error)
        try:
            filled = compiled.entries.render(evaluation.scope)
        except QueryError as error:
            return errored("failed to substitute variables", error)
        verified = [
            read_image_verification(data, one.path)
            for data, one in zip(filled, entries, strict=True)
        ]
        return _verify_all(compiled, verified, images, evaluation)

    return evaluate


def _verify_all(
    compiled: _Compiled,
    entries: list[ImageVerification],
    images: list[Image],
    evaluation: Evaluation,
) -> Outcome | None:
    policy, rule = compiled.context.policy, compiled.context.rule.name
    trace = compiled.context.trace.at("verifyImages")

    def shown(step: Step, outcome: Outcome, check: _ImageCheck, _: _Compiled) -> Step:
        return step._replace(**_image_step(check.image, outcome)._asdict())

    verify = traced(trace, _verify, Step(StepKind.IMAGE), shown)
    image_fields = ("reference", "referenceWithTag", "registry", "path", "name", "tag", "digest")
    words = {RuleStatus.PASS: "pass", RuleStatus.SKIP: "skip"}
    outcomes: list[Outcome] = []
    verdicts: dict[str, str] = {}
    digests: dict[str, str] = {}
    for entry, conditions in zip(entries, compiled.conditions, strict=True):
        attested = bool(entry.attestors or entry.attestations)
        for image in images:
            name = image["reference"]
            if _known_before(evaluation.request, policy, rule, image):
                verdicts[name] = "pass"
                continue
            fields = {field: image.get(field, "") for field in image_fields}
            check = _ImageCheck(entry, conditions, image, evaluation.scope.layer({"image": fields}))
            verdict = verify(check, compiled) if attested else None
            digest, verdict, problem = _digest(check, verdict)
            outcomes += [one for one in (problem, verdict) if one is not None]
            if digest:
                digests[image["jsonPointer"]] = f"{name}@{digest}"
                name = f"{image['registry']}/{image['path']}@{digest}"
            if verdict is not None and attested:
                verdicts[name] = words.get(verdict.status, "fail")
    if not outcomes:
        return None
    operations = [
        {"op": "replace", "path": pointer, "value": image} for pointer, image in digests.items()
    ]
    obj = apply_json_patch(evaluation.object, operations)
    if verdicts:
        obj = _with_verdicts(obj, policy, rule, verdicts)
    first, *others = outcomes
    changed = obj if digests or verdicts else None
    return first._replace(object=changed, further=tuple(others))


def _verify(check: _ImageCheck, compiled: _Compiled) -> Outcome:
    entry, image = check.entry, check.image["reference"]
    if not image_fits(image, entry.image_references) or image_fits(
        image, entry.skip_image_references
    ):
        policy, rule = compiled.context.policy.name, compiled.context.rule.name
        return skipped(f"skipping image reference image {image}, policy {policy} ruleName {rule}")
    try:
        return _verify_recorded(check, compiled)
    except _NotRecordedError as error:
        return errored(f"failed to verify image {image}", error)
    except SignatureError as error:
        return failed(f"failed to verify image {image}: {error}")
    except AttestationError as error:
        return failed(str(error))


def _verify_recorded(check: _ImageCheck, compiled: _Compiled) -> Outcome:
    """Return the result for signatures and attestations; raises if they do not suffice."""
    entry, image, external = check.entry, check.image["reference"], check.scope.external
    if entry.attestors:
        signatures = _recorded_data(image, external, "signatures").signatures or ()
        for index, attestors in enumerate(entry.attestors):
            check_set(attestors, entry.annotations, signatures, f".attestors[{index}]")
        if not entry.attestations:
            return passed(f"verified image signatures for {image}")
    data = _recorded_data(image, external, "attestations")
    scope = check_attestations(entry, check.conditions, data.attestations or (), check.scope)
    if compiled.denials is None:
        if data.digest and not check.image.get("digest"):
            image = f"{check.image['registry']}/{check.image['path']}@{data.digest}"
        return passed(f"verified image attestations for {image}")
    try:
        denied = compiled.denials(scope)
    except ConditionError as error:
        denied = f"failed to check deny conditions: {error}"
    if denied is not None:
        return failed(f"validation in verifyImages failed: {denied}")
    return passed(f"verifyImages validation is passed in {compiled.context.rule.name} rule")


def _digest(
    check: _ImageCheck, verdict: Outcome | None
) -> tuple[str, Outcome | None, Outcome | None]:
    """Return the digest that replaces a tag ("" for none), the result, and a problem."""
    if check.entry.mutate_digest is False or check.image.get("digest"):
        return "", verdict, None
    try:
        data = _recorded_data(check.image["reference"], check.scope.external, "digest")
    except _NotRecordedError as error:
        return "", verdict, errored("failed to update digest", error)
    return data.digest, verdict or passed("mutated image digest"), None


# The checks of `verifyImages` in the validate phase: `verifyDigest` and `required`.
#
# Source of the rules: upstream pkg/engine/handlers/validation/validate_image.go.


def _compile_has_checks(context: RuleContext) -> Callable[[Json], bool]:
    entries = context.rule.tree.verify_images or ()
    if any(entry.verify_digest is True or entry.required is True for entry in entries):
        return compile_concerns(context)
    return lambda _: False


def _compile_checks(context: RuleContext) -> CompiledBody:
    entries = context.rule.tree.verify_images or ()
    read = compile_reader(context.rule.tree, context.system)

    def evaluate(evaluation: Evaluation) -> Outcome:
        try:
            groups = read(evaluation.object)
        except QueryError as error:
            outcome = errored("failed to instantiate handler", error)
            return outcome._replace(phase=Phase.VERIFY_IMAGES)
        images = [image for group in groups.values() for image in group.values()]
        outcome = _check_all(context, entries, images, evaluation)
        return outcome._replace(phase=Phase.VERIFY_IMAGES)

    return evaluate


def _check_all(
    context: RuleContext,
    entries: tuple[ImageVerification, ...],
    images: list[Image],
    evaluation: Evaluation,
) -> Outcome:
    verdicts: list[tuple[str, str]] = []
    policy, rule = context.policy, context.rule.name

    def traced_failure(image: Image, message: str) -> Outcome:
        """Return and trace a failure that is caused by one image."""
        outcome = failed(message)
        if context.trace.takes_steps:
            trace_step(context.trace.at("verifyImages"), _image_step(image, outcome))
        return outcome

    for entry, image in ((entry, image) for entry in entries for image in images):
        name = image["reference"]
        if not image_fits(name, entry.image_references):
            continue
        # Both fields default to true in the schema.
        if entry.verify_digest is True and not image.get("digest"):
            return traced_failure(image, f"missing digest for {name}")
        if entry.required is not True:
            continue
        try:
            verdict = _verdict_of(evaluation.object, policy, rule, name)
        except _MetadataError as error:
            return failed(str(error))
        if verdict == "fail" and _known_before(evaluation.request, policy, rule, image):
            verdict = "pass"
        if verdict == "fail":
            return traced_failure(image, f"unverified image {name}")
        verdicts.append((verdict, name))
    return _summary(verdicts)


def _summary(verdicts: list[tuple[str, str]]) -> Outcome:
    skips = " ".join(name for verdict, name in verdicts if verdict == "skip")
    if not skips:
        return passed("image verified")
    if any(verdict == "pass" for verdict, _ in verdicts):
        return passed(f"image verified, skipped images: {skips}")
    return skipped(f"image skipped, skipped images: {skips}")


def _facts(facts: RuleFacts, rule: RuleNode, _: PolicyNode) -> RuleFacts:
    actions = (one.failure_action for one in rule.verify_images or ())
    return facts._replace(image_actions=tuple(filter(None, actions)))


RULE_TYPE = RuleType(
    ("verifyImages",),
    Phase.VERIFY_IMAGES,
    _compile_verification,
    facts=_facts,
    fields=frozenset({"imageExtractors"}),
    concerns=compile_concerns,
    then=RuleType(("verifyImages",), Phase.VALIDATE, _compile_checks, concerns=_compile_has_checks),
)
