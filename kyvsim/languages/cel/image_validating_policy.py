"""ImageValidatingPolicy and NamespacedImageValidatingPolicy of `policies.kyverno.io`.

Images are extracted, selected and checked for a digest; then their data are read from a context
file, and used in validations. No signature is ever verified, so a policy that requires verified
images passes only if it matches none. An expression that cannot be compiled is an error of every
object that the policy matches, besides a diagnostic.

Source of the rules: upstream pkg/image/verification (evaluator/compiler.go, evaluator/policy.go,
variables/attestors.go), pkg/cel/policies/ivpol/engine/engine.go, pkg/cel/compiler (compiler.go,
image.go, images.go), pkg/cel/matching/image.go.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeAlias

from kyvsim.cel import CelBudgetError, CelError, CompileError, Program, compile_expression
from kyvsim.cel.kyverno.encodings import native_text, native_texts
from kyvsim.cel.kyverno.environments import image_reference_environment
from kyvsim.cel.kyverno.images import (
    Attestor,
    ImageFacts,
    image_verification,
    parse_image,
    unanswered,
    unfetched,
)
from kyvsim.cel.types import BOOL
from kyvsim.engine.compile.compiled import CompiledBody, Evaluation, Outcome, failed, passed
from kyvsim.engine.context.images import ImageError, pod_images
from kyvsim.kubernetes.discovery import KindTable, plural, split_api_version
from kyvsim.kubernetes.go_text import to_json
from kyvsim.kubernetes.objects import object_key
from kyvsim.kubernetes.wildcard import GlobError, compile_glob
from kyvsim.languages.cel.exceptions import (
    CompiledExceptions,
    Matched,
    compile_exceptions,
    excepted,
    noted,
)
from kyvsim.languages.cel.kind import (
    CelKind,
    PolicyPart,
    RequestValues,
    evaluated_on_templates,
    without_mutation,
)
from kyvsim.languages.cel.validating_policy import annotation_texts, compile_error_text
from kyvsim.languages.cel_expressions import (
    CompiledExpression,
    Compiler,
    EvaluationError,
    KyvernoScope,
    Validation,
    all_hold,
)
from kyvsim.languages.tracing import ends_of_validations
from kyvsim.model.release import Release
from kyvsim.model.result import Phase, RuleStatus, Stage
from kyvsim.policy.cel_autogen import variants
from kyvsim.policy.cel_policy import ImageReference


def compile_references(
    nodes: Iterable[ImageReference], compiler: Compiler, release: Release
) -> Callable[[str], bool]:
    """Return a predicate: whether an image is selected; without nodes all are. Raises CelError.

    Problems of the references are recorded in the compiler.
    """
    tests: list[Callable[[str], object]] = []
    for node in nodes:
        if not (node.glob or node.expression):
            what = "either glob or expression must be set"
            compiler.reject("", node.path, what, shown=(node.path, "{}"))
            continue
        try:
            if node.glob:
                tests.append(compile_glob(node.glob).fullmatch)
            else:
                env = image_reference_environment(release)
                tests.append(partial(_holds, compile_expression(node.expression, env, BOOL)))
        except GlobError as error:
            compiler.reject(node.glob, (*node.path, "glob"), str(error))
        except CompileError as error:
            message = error.listing or "output is expected to be of type bool"
            compiler.reject(node.expression, (*node.path, "expression"), message)
    return lambda image: not tests or any(test(image) for test in tests)


def _holds(program: Program, image: str) -> Any:
    try:
        return program.evaluate((image,))
    except CelBudgetError as error:
        raise CelError(str(error)) from None


# The attestors of a policy: arguments of functions, some with fields that expressions compute.
#
# Source of the rules: upstream pkg/image/verification/variables/attestors.go.

AttestorPrograms: TypeAlias = Mapping[str, tuple[tuple[str, CompiledExpression], ...]]
"""The fields of each attestor that expressions compute, by its name."""


class Attestors(dict[str, Any]):
    """The value of `attestors` for one request, each completed on first access.

    It supports access by name and iteration, which yields the attestors and not their names, and
    nothing else. upstream: k8s.io/apiserver pkg/cel/lazy/lazy.go
    """

    only_own_kind = True

    def __init__(self, programs: AttestorPrograms) -> None:
        super().__init__()
        self._programs = programs
        self._values: Sequence[object] = ()

    def see(self, values: Sequence[object]) -> None:
        """Set the values for the expressions."""
        self._values = values

    def __iter__(self) -> Iterator[Any]:
        return (self[name] for name in self._programs)

    def __contains__(self, name: object) -> bool:
        return name in self._programs

    def __missing__(self, name: str) -> Attestor:
        for part, expression in self._programs[name]:
            start = f"failed to convert {part} in compiled attestor: {name}, error: failed to"
            try:
                value = expression.value(self._values)
            except EvaluationError as error:
                wrong = f"{start} evaluate compiled attestor: {name}, error: {error}"
                raise CelError(wrong) from None
            try:
                native_text(value)
            except CelError as error:
                wrong = f"{start} convert expression in compiled attestor: {name}, error: {error}"
                raise CelError(wrong) from None
        found = self[name] = Attestor(name)
        return found


_IMAGE_LISTS = ("containers", "initContainers", "ephemeralContainers")
_POD_SPECS: Mapping[tuple[str, str, str], str] = {
    ("", "v1", "pods"): "spec",
    **{
        ("apps", "v1", name): "spec.template.spec"
        for name in ("deployments", "statefulsets", "daemonsets", "replicasets")
    },
    ("batch", "v1", "jobs"): "spec.template.spec",
    ("batch", "v1", "cronjobs"): "spec.jobTemplate.spec.template.spec",
}
"""The path of the Pod's specification in resources whose images are found by default."""
_UNBOUND = ("images", "attestors", "attestations")
"""Variables that conditions may name but that have no value there."""


class ImageValidatingPolicy(NamedTuple):
    """The programs of a policy, or of one of its variants."""

    values: RequestValues
    kinds: KindTable
    conditions: tuple[CompiledExpression, ...]
    unbound: str
    """A variable without a value that conditions read; "" for none."""
    exceptions: CompiledExceptions | None
    takes: Callable[[str], bool]
    """Whether it selects an image; raises CelError."""
    extractors: Mapping[str, Mapping[str, CompiledExpression]]
    """Image extractors by the name of their list; grouped by the path of the Pod, "" for no Pod."""
    attestors: AttestorPrograms
    attestations: Mapping[str, str]
    validations: tuple[Validation, ...]
    annotations: Mapping[str, CompiledExpression]
    ignores_faults: bool
    verifies_digests: bool
    requires_verification: bool


def _compile(part: PolicyPart) -> CompiledBody:
    policy, given = image_programs(part)
    problems = part.compiler.problems
    if not problems:
        return _body(policy, given)

    def run(evaluation: Evaluation) -> Outcome:
        """Return why the policy cannot be compiled; upstream compiles it each time."""
        found = _pod_spec(evaluation, policy.kinds)
        text = compile_error_text(problems, {"images": len(_IMAGE_LISTS) if found else 0})
        message = f"failed to compile policy: {text}"
        return Outcome(RuleStatus.ERROR, message, rule_name="evaluation")

    return run


def image_programs(part: PolicyPart) -> tuple[ImageValidatingPolicy, dict[str, Mapping[str, Any]]]:
    """Return the programs of a policy, and the dict for the given image data.

    Problems are recorded in the compiler.
    """
    spec, compiler = part.spec, part.compiler
    release = part.options.system.release
    conditions = compiler.conditions(spec.match_conditions)
    takes = compile_references(spec.match_image_references, compiler, release)
    attestations = {name: name for name in spec.attestations}
    given: dict[str, Mapping[str, object]] = {}
    library = image_verification(ImageFacts(takes, attestations, given.get))
    compiler.scope = KyvernoScope(compiler.env.with_library(library))
    places = _POD_SPECS.values() if part.mode != "JSON" else ()
    own: dict[str, CompiledExpression] = {}
    for node in spec.images:
        path = (*node.path, "expression")
        one = compiler.compile(node.expression, path)
        if one.program is not None:
            kind = one.program.type
            of = kind.parameters[0].kind if kind.kind == "list" else kind.kind
            if of != "dyn" and (kind.kind, of) != ("list", "string"):
                one = compiler.reject(one.text, path, "output is expected to be of type list")
        own[node.name] = one
    extractors: dict[str, Mapping[str, CompiledExpression]] = {"": own}
    for where in dict.fromkeys(places):
        spec_of = f"(object != null ? object : oldObject).{where}"
        extractors[where] = {
            name: compiler.program(f"{spec_of}.?{name}.orValue([]).map(e, e.image)")
            for name in _IMAGE_LISTS
        } | own
    variables = compiler.variables(spec.variables)
    attestors = {
        node.name: tuple(
            (
                one.part,
                compiler.compile(one.expression, one.path, shown=(node.path, to_json(one.holder))),
            )
            for one in node.expressions
        )
        for node in spec.attestors
    }
    policy = ImageValidatingPolicy(
        values=RequestValues(part, variables),
        kinds=part.options.kinds,
        conditions=tuple(one for one in conditions if not one.reads.intersection(_UNBOUND)),
        unbound=next((name for one in conditions for name in _UNBOUND if name in one.reads), ""),
        exceptions=compile_exceptions(part, ignorable=True, of_images=True),
        takes=takes,
        extractors=extractors,
        attestors=attestors,
        attestations=attestations,
        validations=compiler.validations(spec.validations),
        annotations=compiler.annotations(spec.audit_annotations),
        ignores_faults=not part.policy.facts.fails_closed,
        verifies_digests=spec.image_verification.verify_digest is not False,
        requires_verification=spec.image_verification.required is not False,
    )
    return policy, given


def _pod_spec(evaluation: Evaluation, kinds: KindTable) -> str:
    if evaluation.request.is_payload:
        return ""
    key = object_key(evaluation.request.subject)
    group, version = split_api_version(key.api_version)
    return _POD_SPECS.get((group, version, plural(group, key.kind, kinds)), "")


def _body(policy: ImageValidatingPolicy, given: dict[str, Mapping[str, object]]) -> CompiledBody:
    def run(evaluation: Evaluation) -> Outcome | None:
        images = evaluation.scope.external.images
        given.clear()
        given.update(images)
        values = policy.values.of(evaluation)
        try:
            if not conditions_hold(policy, values):
                return None
            matched = policy.exceptions.matching(evaluation) if policy.exceptions else Matched()
            if matched.counting:
                return excepted(matched)._replace(phase=Phase.VALIDATE)
            pod_spec = _pod_spec(evaluation, policy.kinds)
            extractors = policy.extractors.get(pod_spec, policy.extractors[""])
            everything = {name: native_texts(one.value(values)) for name, one in extractors.items()}
            found = {
                name: [image for image in some if policy.takes(image)]
                for name, some in everything.items()
            }
            return noted(_validated(policy, found, images, evaluation), matched)
        except (EvaluationError, CelError) as error:
            message = f"failed to evaluate policy: {error}"
            return Outcome(RuleStatus.ERROR, message, rule_name="evaluation")

    return run


def conditions_hold(policy: ImageValidatingPolicy, values: Sequence[object]) -> bool:
    """Return whether every condition holds; raises EvaluationError unless failures are ignored."""
    try:
        holds = all_hold(policy.conditions, values)
    except EvaluationError:
        if not policy.ignores_faults:
            raise
        return False
    if holds and policy.unbound and not policy.ignores_faults:
        raise EvaluationError(f"no such attribute(s): {policy.unbound}")
    return holds and not policy.unbound


_NO_DIGEST = (
    "write the image as `NAME@sha256:…` (a cluster adds the digest from the registry first, unless "
    "`mutateDigest` is false), or set `validationConfigurations: {verifyDigest: false}`"
)


def _validated(
    policy: ImageValidatingPolicy,
    found: Mapping[str, list[str]],
    known: Mapping[str, object],
    evaluation: Evaluation,
) -> Outcome:
    images = [image for one in found.values() for image in one]
    if policy.verifies_digests:
        for image in images:
            try:
                has_digest = bool(parse_image(image).digest)
            except CelError as error:
                text = f"failed to parse image reference {image}: {error}"
                raise EvaluationError(text) from None
            if not has_digest:
                return failed(f"image {image} does not have a digest")._replace(hints=(_NO_DIGEST,))
    unknown = next((image for image in images if image not in known), "")
    if unknown:
        raise EvaluationError(unfetched(unknown))
    attestors = Attestors(policy.attestors)
    values = policy.values.of(
        evaluation, images=found, attestors=attestors, attestations=policy.attestations
    )
    attestors.see(values)
    for index, validation in enumerate(policy.validations):
        if validation.test.value(values) is not True:
            message = validation.denial(index, values)
            return failed(message)._replace(properties=annotation_texts(policy.annotations, values))
    properties = annotation_texts(policy.annotations, values)
    if policy.requires_verification and images:
        missing = "no policy performed a signature or attestation check on it"
        message = f"image {images[0]} is not verified: {missing}"
        return failed(message)._replace(properties=properties)
    return passed("success")._replace(properties=properties)


IMAGE_VALIDATING = CelKind(
    "ImageValidatingPolicy",
    Stage.CEL_VERIFY_IMAGES,
    _compile,
    ends=ends_of_validations,
    variants=variants,
    on_templates=partial(evaluated_on_templates, fault="failed to evaluate policy"),
    without_constraints=True,
    weighs_exceptions=True,
    tells_faults=True,
    match_rule="match",
    judges_json=lambda mode: mode == "JSON",
)

# ImageValidatingPolicies replace tags by digests before they validate images.
#
# Only a registry knows the digests, so that here an image without digest is an error. Images are
# those of containers, whatever `spec.images` extracts.
#
# Source of the rules: upstream pkg/image/verification/evaluator/policy.go (`MutateDigest`),
# pkg/cel/policies/ivpol/engine/engine.go.


def _compile_pinning(part: PolicyPart) -> CompiledBody:
    policy, _ = image_programs(part)
    release = part.options.system.release
    if part.compiler.problems:
        # Reported by the validation of images.
        return lambda _: None

    def run(evaluation: Evaluation) -> Outcome | None:
        try:
            if not conditions_hold(policy, policy.values.of(evaluation)):
                return None
            if policy.exceptions and policy.exceptions.matching(evaluation).counting:
                return None
            images = pod_images(evaluation.request.subject, release)
            found = [
                unanswered(image["reference"])
                for group in images.values()
                for image in group.values()
                if not image.get("digest") and policy.takes(image["reference"])
            ]
        except (EvaluationError, CelError, ImageError) as error:
            found = [str(error)]
        if not found:
            return None
        message = f"failed to update digest: {'; '.join(found)}"
        return Outcome(RuleStatus.ERROR, message, rule_name="mutateDigest")

    return run


PINNING = IMAGE_VALIDATING._replace(
    compile=_compile_pinning,
    on_templates=lambda *_: without_mutation(
        "mutateDigest", "digest-pinning mutation is not supported for extraction-mode targets"
    ),
)
"""The kind as the mutating webhook uses it."""
