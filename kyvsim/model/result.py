"""Outcomes of evaluation, from one rule up to one request."""

from enum import Enum
from typing import NamedTuple

from kyvsim.kube.objects import Json
from kyvsim.model.policy import Policy, Rule


class RuleStatus(str, Enum):
    """How a rule ended."""

    PASS = "pass"  # noqa: S105 — a verdict, no secret
    FAIL = "fail"
    WARN = "warn"
    ERROR = "error"
    SKIP = "skip"


class Phase(str, Enum):
    """The part of a request's life in which a rule runs; the value is the name in reports."""

    MUTATE = "Mutation"
    VERIFY_IMAGES = "ImageVerify"
    VALIDATE = "Validation"
    GENERATE = "Generation"


class PatchedTarget(NamedTuple):
    """An existing object that a mutate rule changed on behalf of a trigger."""

    object: Json
    changed: bool


class RuleResult(NamedTuple):
    """Outcome of one rule for one request."""

    rule: Rule
    phase: Phase
    status: RuleStatus
    message: str
    generated: tuple[Json, ...] = ()
    targets: tuple[PatchedTarget, ...] = ()


class PolicyResponse(NamedTuple):
    """What one policy said about one request in one phase.

    `object` is the object the phase worked on, after its patches where it is the mutate phase.
    """

    policy: Policy
    phase: Phase
    object: Json
    results: tuple[RuleResult, ...]
    changed: bool = False


class EngineResponse(NamedTuple):
    """Everything the policies said about one request, in the order in which they said it."""

    trigger: Json
    object: Json
    """The object as all mutate rules left it."""
    responses: tuple[PolicyResponse, ...]
