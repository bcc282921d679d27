"""The converters for bodies of rules, and the kinds of policies that they create."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final

from kyvsim.kubernetes.objects import Path
from kyvsim.languages.classic.rule_type import rule_types_of
from kyvsim.migrate.context import NotConvertible
from kyvsim.migrate.matching import WRITES
from kyvsim.migrate.rules.generate import evaluation_of, generate
from kyvsim.migrate.rules.mutate import patch_existing, patch_resource
from kyvsim.migrate.rules.results import (
    WITHOUT_DELETE,
    ConversionInput,
    RuleConverter,
    ValidationEntry,
)
from kyvsim.migrate.rules.validate import (
    any_pattern,
    cel,
    deny,
    foreach_validation,
    pattern,
    pod_security,
    reads_object,
)
from kyvsim.migrate.rules.verify_images import image_fields, verify_images
from kyvsim.migrate.settings import actions_of
from kyvsim.model.policy import Rule
from kyvsim.policy.rule import Mutate, RuleNode, Validate

VALIDATING: Final = "ValidatingPolicy"
GENERATING: Final = "GeneratingPolicy"
IMAGES: Final = "ImageValidatingPolicy"
MUTATING: Final = "MutatingPolicy"
DERIVED: Final = frozenset({VALIDATING, IMAGES})
"""The kinds of policies from which Kyverno derives policies for controllers."""


def converter_of(rule: Rule, node: RuleNode) -> RuleConverter:
    """Return the converter for the body of a rule; raises NotConvertible for other rule types.

    `node` is the rule to convert, with a single failure action.
    """
    generation, images = node.generate, node.verify_images
    if node.validate is not None and (found := _validation(node.validate)):
        return found
    if generation is not None:
        emit, fields = partial(generate, generation), partial(evaluation_of, rule.facts)
        return RuleConverter(GENERATING, generation.path, emit, fields=fields)
    if images is not None:
        path = (*node.path, "verifyImages")
        verify, settings = partial(verify_images, images), partial(image_fields, images)
        return RuleConverter(IMAGES, path, verify, fields=settings)
    if node.mutate is not None and (found := _mutation(node.mutate)):
        return found
    field = next((one.field for one in rule_types_of(node)), ())
    if not field:
        what = "a rule that validates, mutates, generates or verifies nothing cannot be converted"
        raise NotConvertible(what, "write the policy in CEL by hand")
    what = f"`{'.'.join(field)}` cannot be converted"
    what, advice = _REFUSED.get(field, (what, "write the policy in CEL by hand"))
    raise NotConvertible(what, advice, (*node.path, *field))


_REFUSED: Final[Mapping[Path, tuple[str, str]]] = {
    ("validate", "manifests"): (
        "signatures of objects cannot be converted: CEL has no function to verify them",
        "keep the rule in a ClusterPolicy of its own",
    ),
}
"""Why rules of some types cannot be converted, and what to do, by the path of the body."""


def _validation(body: Validate) -> RuleConverter | None:
    def converter(
        path: Path,
        emit: Callable[[ConversionInput], Sequence[ValidationEntry]],
        operations: tuple[str, ...] = WITHOUT_DELETE,
    ) -> RuleConverter:
        return RuleConverter(VALIDATING, path, emit, operations, partial(actions_of, body))

    if body.deny is not None:
        return converter(body.deny.path, partial(deny, body.deny), WRITES)
    if body.pattern is not None:
        return converter(body.pattern.path, partial(pattern, body.pattern))
    if body.any_pattern is not None:
        return converter((*body.path, "anyPattern"), partial(any_pattern, body.any_pattern))
    if body.foreach is not None:
        # A loop over the new object has no list at a deletion: in strings with variables,
        # `request.object` is then the deleted object, but lists are not such strings.
        finds_nothing = all(
            loop.pattern is not None
            or loop.any_pattern is not None
            or "request.object" in loop.list
            for loop in body.foreach
        )
        operations = WITHOUT_DELETE if finds_nothing else WRITES
        emit = partial(foreach_validation, body.foreach)
        return converter((*body.path, "foreach"), emit, operations)
    if body.pod_security is not None:
        return converter(body.pod_security.path, partial(pod_security, body.pod_security))
    if body.cel is not None:
        # Expressions that read the object end in an error if there is none.
        operations = WITHOUT_DELETE if reads_object(body.cel) else WRITES
        return converter(body.cel.path, partial(cel, body.cel), operations)
    return None


def _mutation(body: Mutate) -> RuleConverter | None:
    if body.targets:
        return RuleConverter(MUTATING, body.path, partial(patch_existing, body, body.targets))
    if not any(
        one is not None for one in (body.foreach, body.patch_strategic_merge, body.patches_json6902)
    ):
        return None
    return RuleConverter(MUTATING, body.path, partial(patch_resource, body))
