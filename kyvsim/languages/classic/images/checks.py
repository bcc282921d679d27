"""The checks of `verifyImages` in the validate phase: `verifyDigest` and `required`.

Source of the rules: upstream pkg/engine/handlers/validation/validate_image.go.
"""

from collections.abc import Callable

from kyvsim.engine.compile.compiled import (
    CompiledBody,
    Evaluation,
    Outcome,
    errored,
    failed,
    passed,
    skipped,
)
from kyvsim.jmespath import QueryError
from kyvsim.kubernetes.objects import Json
from kyvsim.languages.classic.images.entries import entries_of, fits
from kyvsim.languages.classic.images.extract import compile_reader
from kyvsim.languages.classic.images.followed import tell_image
from kyvsim.languages.classic.images.matching import Image, compile_concerns
from kyvsim.languages.classic.images.metadata import MetadataError, known_before, verdict_of
from kyvsim.languages.classic.rule_type import RuleContext
from kyvsim.model.probe import Probe
from kyvsim.model.result import Phase


def _checks(entry: Json, name: str) -> bool:
    # The schema fills in that both are wanted.
    return entry.get(name) is True


def compile_checked(context: RuleContext) -> Callable[[Json], bool]:
    """Return whether the rule has anything to check of an object."""
    entries = entries_of(context.rule.data)
    if any(_checks(entry, "verifyDigest") or _checks(entry, "required") for entry in entries):
        return compile_concerns(context)
    return lambda _: False


def compile_checks(context: RuleContext) -> CompiledBody:
    """Return the body that a `verifyImages` rule has in the validate phase."""
    entries = entries_of(context.rule.data)
    read = compile_reader(context.rule.data, context.system)

    def evaluate(evaluation: Evaluation) -> Outcome:
        try:
            groups = read(evaluation.object)
        except QueryError as error:
            return _as_image_result(errored("failed to instantiate handler", error))
        images = [image for group in groups.values() for image in group.values()]
        return _as_image_result(_check_all(context, entries, images, evaluation))

    return evaluate


def _as_image_result(outcome: Outcome) -> Outcome:
    return outcome._replace(phase=Phase.VERIFY_IMAGES)


def _check_all(
    context: RuleContext, entries: list[Json], images: list[Image], evaluation: Evaluation
) -> Outcome:
    verdicts: list[tuple[str, str]] = []
    asked = (
        (entry, image)
        for entry in entries
        for image in images
        if fits(image["reference"], entry.get("imageReferences"))
    )
    for entry, image in asked:
        name = image["reference"]
        if _checks(entry, "verifyDigest") and not image.get("digest"):
            return _told(context.probe, image, failed(f"missing digest for {name}"))
        if not _checks(entry, "required"):
            continue
        try:
            verdict = _verdict(context, image, evaluation)
        except MetadataError as error:
            return failed(str(error))
        if verdict == "fail":
            return _told(context.probe, image, failed(f"unverified image {name}"))
        verdicts.append((verdict, name))
    return _summary(verdicts)


def _told(probe: Probe, image: Image, outcome: Outcome) -> Outcome:
    """Return an outcome that is on account of one image, having told so if anybody follows."""
    if probe.follower is not None:
        tell_image(image, outcome, probe)
    return outcome


def _verdict(context: RuleContext, image: Image, evaluation: Evaluation) -> str:
    policy, rule = context.policy, context.rule.name
    found = verdict_of(evaluation.object, policy, rule, image["reference"])
    if found == "fail" and known_before(evaluation.request, policy, rule, image):
        return "pass"
    return found


def _summary(verdicts: list[tuple[str, str]]) -> Outcome:
    skips = [name for verdict, name in verdicts if verdict == "skip"]
    verified = any(verdict == "pass" for verdict, _ in verdicts)
    if skips and not verified:
        return skipped(" ".join(("image skipped, skipped images:", *skips)))
    if skips:
        return passed(" ".join(("image verified, skipped images:", *skips)))
    return passed("image verified")
