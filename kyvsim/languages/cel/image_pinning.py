"""What ImageValidatingPolicies do before they look at images: tags become digests.

A registry knows the digests, so that here an image without one is an error. Images are those of
containers, whatever `spec.images` finds.

Source of the rules: upstream pkg/image/verification/evaluator/policy.go (`MutateDigest`),
pkg/cel/policies/ivpol/engine/engine.go.
"""

from collections.abc import Iterator

from kyvsim.cel import CelError
from kyvsim.cel.kyverno.images import unanswered
from kyvsim.engine.compile.compiled import CompiledBody, Evaluation, Outcome
from kyvsim.engine.context.json_context import SKIPPED, ImageError, load_images
from kyvsim.kubernetes.objects import Json
from kyvsim.languages.cel.expressions import EvaluationError
from kyvsim.languages.cel.image_validating_policy import (
    KIND,
    ImageValidatingPolicy,
    conditions_hold,
    image_programs,
)
from kyvsim.languages.cel.kind import PolicyPart
from kyvsim.model.result import RuleStatus

_ROW = "mutateDigest"


def _compile(part: PolicyPart) -> CompiledBody:
    policy, _ = image_programs(part)
    if part.compiler.problems:
        # Told where images are validated.
        return lambda _: None

    def run(evaluation: Evaluation) -> Outcome | None:
        try:
            if not conditions_hold(policy, policy.values.of(evaluation)):
                return None
            if policy.exceptions and policy.exceptions.matching(evaluation).counting:
                return None
            found = [unanswered(one) for one in _tagged(policy, evaluation)]
        except (EvaluationError, CelError, ImageError) as error:
            found = [str(error)]
        if not found:
            return None
        message = f"failed to update digest: {'; '.join(found)}"
        return Outcome(RuleStatus.ERROR, message, rule_name=_ROW)

    return run


def _tagged(policy: ImageValidatingPolicy, evaluation: Evaluation) -> Iterator[str]:
    """Yield the images without a digest that a policy takes; raises ImageError or CelError."""
    found: Json = load_images(evaluation.request.subject)
    groups = {} if found is SKIPPED else found
    for group in groups.values():
        for image in group.values():
            if not image.get("digest") and policy.references.take(image["reference"]):
                yield image["reference"]


PINNING = KIND._replace(compile=_compile)
"""The kind, as the webhook sees it that changes objects."""
