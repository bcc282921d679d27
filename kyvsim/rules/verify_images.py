"""`verifyImages`: signatures and attestations of images, and digests put in place of tags.

A rule runs in two phases: in its own it verifies and pins, in the validate phase it checks
`verifyDigest` and `required`. The work is in `images/`, which few policies need.
"""

from collections.abc import Callable

from kyvsim.kube.objects import Json
from kyvsim.model.result import Phase
from kyvsim.rules.protocol import CompiledBody, RuleContext, RuleType


def _verify(context: RuleContext) -> CompiledBody:
    from kyvsim.rules.images.verification import (  # noqa: PLC0415 — seldom needed
        compile_verification,
    )

    return compile_verification(context)


def _concerns(context: RuleContext) -> Callable[[Json], bool]:
    from kyvsim.rules.images.matching import compile_concerns  # noqa: PLC0415 — seldom needed

    return compile_concerns(context)


def _check(context: RuleContext) -> CompiledBody:
    from kyvsim.rules.images.checks import compile_checks  # noqa: PLC0415 — seldom needed

    return compile_checks(context)


def _checked(context: RuleContext) -> Callable[[Json], bool]:
    from kyvsim.rules.images.checks import compile_checked  # noqa: PLC0415 — seldom needed

    return compile_checked(context)


RULE_TYPE = RuleType(
    ("verifyImages",),
    Phase.VERIFY_IMAGES,
    _verify,
    concerns=_concerns,
    then=RuleType(("verifyImages",), Phase.VALIDATE, _check, concerns=_checked),
)
