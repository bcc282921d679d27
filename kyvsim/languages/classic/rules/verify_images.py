"""`verifyImages`: signatures and attestations of images, and digests put in place of tags.

A rule runs in two phases: in its own it verifies and pins, in the validate phase it checks
`verifyDigest` and `required`. The work is in `images/`, which few policies need.
"""

from collections.abc import Callable, Iterator, Mapping

from kyvsim.engine.compile.compiled import CompiledBody
from kyvsim.kubernetes.objects import Json
from kyvsim.languages.classic.images.checks import compile_checked, compile_checks
from kyvsim.languages.classic.images.matching import compile_concerns
from kyvsim.languages.classic.images.verification import compile_verification
from kyvsim.languages.classic.rule_type import (
    NOT_CARRIED,
    Autogen,
    PodTemplate,
    Remark,
    RuleContext,
    RuleType,
)
from kyvsim.model.policy import RuleFacts
from kyvsim.model.result import Phase


def _verify(context: RuleContext) -> CompiledBody:
    return compile_verification(context)


def _concerns(context: RuleContext) -> Callable[[Json], bool]:
    return compile_concerns(context)


def _check(context: RuleContext) -> CompiledBody:
    return compile_checks(context)


def _checked(context: RuleContext) -> Callable[[Json], bool]:
    return compile_checked(context)


_ASKED = ("mutateDigest", "verifyDigest", "required")


def _idle(entries: Json) -> Iterator[Remark]:
    for index, entry in enumerate(entries):
        asked = entry.get("attestors") or entry.get("attestations")
        if not asked and not any(entry.get(name) is not False for name in _ASKED):
            yield (index,), "nothing is asked of the images"


def _facts(facts: RuleFacts, rule: Mapping[str, Json], _: Mapping[str, Json]) -> RuleFacts:
    actions = [
        str(one["failureAction"]) for one in rule["verifyImages"] if one.get("failureAction")
    ]
    return facts._replace(image_actions=tuple(actions))


def _carried(section: Json, _: PodTemplate) -> Json:
    return section or None


RULE_TYPE = RuleType(
    ("verifyImages",),
    Phase.VERIFY_IMAGES,
    _verify,
    Autogen(_carried),
    idle=_idle,
    facts=_facts,
    fields=frozenset({"imageExtractors"}),
    concerns=_concerns,
    then=RuleType(("verifyImages",), Phase.VALIDATE, _check, NOT_CARRIED, concerns=_checked),
)
