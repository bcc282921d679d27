"""What the body of a compiled rule is evaluated on, and how it ends, in whatever language it is."""

from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeAlias

from kyvsim.context import JSONContext
from kyvsim.kube.objects import Json
from kyvsim.model.request import AdmissionRequest
from kyvsim.model.result import NO_PROPERTIES, PatchedTarget, Phase, RuleStatus
from kyvsim.proof import Shape


class Exclusion(NamedTuple):
    """A control of Pod security, or single fields and values of it, that is let pass."""

    control: str
    has_image: Callable[[str], bool] | None
    """Whether a container's image is meant; None where the Pod as a whole is meant."""
    field: str
    """The only field that is let pass, with `*` for indices; "" for all."""
    has_value: Callable[[str], bool] | None
    """Whether a forbidden value is let pass; None for all."""


class MatchedException(NamedTuple):
    """A policy exception that matches the object."""

    key: str
    controls: tuple[Exclusion, ...]
    """The only controls that it lets pass; () where it lets everything pass."""
    images: tuple[str, ...] = ()
    """The images that a policy in CEL may let pass on its account."""
    values: tuple[str, ...] = ()
    """The same for values."""


class Evaluation(NamedTuple):
    """What a rule's body is evaluated on."""

    scope: JSONContext
    request: AdmissionRequest
    object: Json
    """The object that patterns check and patches change; None on DELETE."""
    element: Json = None
    """The loop's element, where a pattern is to be checked against it."""
    exceptions: tuple[MatchedException, ...] = ()
    """Those that match, for a rule type that weighs them itself."""


class Outcome(NamedTuple):
    """How a rule's body ended."""

    status: RuleStatus
    message: str
    object: Json = None
    """The patched object, where a mutate rule passed."""
    generated: tuple[Json, ...] = ()
    targets: tuple[PatchedTarget, ...] = ()
    path: str = ""
    """Where in the object a pattern failed, such as `/spec/containers/0/image/`."""
    note: str = ""
    """What a user should know besides upstream's message."""
    further: tuple["Outcome", ...] = ()
    """More results of the same rule: a rule on existing objects has one for each of them."""
    phase: Phase | None = None
    """The phase that reports name, where it is not the one in which the rule ran."""
    exceptions: tuple[str, ...] = ()
    """The keys of the exceptions on whose account the rule was skipped."""
    properties: Mapping[str, str] = NO_PROPERTIES
    """What reports tell besides the message."""
    unchecked: tuple[str, ...] = ()
    """What of the object could not be looked at, each with its reason, where upstream goes on."""
    hints: tuple[str, ...] = ()
    """What nothing answered that the rule asked for, and how to answer it."""
    rule_name: str = ""
    """The name that reports give, where it is not the rule's own."""
    silent: bool = False
    """Whether upstream has no result here, although something was `unchecked`."""
    own: str = ""
    """What people read instead of the message, see `RuleResult.own`."""


class Proof(NamedTuple):
    """What shows how a body ends, without evaluating it."""

    shape: Shape
    outcome: Outcome
    """A status and a message, the same for every object of this shape."""
    exact: bool = False
    """Whether no other object could make the body end like this."""
    is_all: bool = False
    """Whether the body looks at nothing but what its proofs look at, however it ends."""


CompiledBody: TypeAlias = Callable[[Evaluation], Outcome | None]
"""Evaluates a body; None where the rule has nothing to say, as a loop over no elements."""


def passed(message: str) -> Outcome:
    """Return a pass."""
    return Outcome(RuleStatus.PASS, message)


def failed(message: str, path: str = "", own: str = "") -> Outcome:
    """Return a failure, with the place in the object where there is one.

    `own` is what of the message the policy says itself.
    """
    return Outcome(RuleStatus.FAIL, message, path=path, own=own)


def errored(what: str, cause: object = "") -> Outcome:
    """Return an error: what could not be done, and why."""
    return Outcome(RuleStatus.ERROR, f"{what}: {cause}" if cause else what)


def unheard(unchecked: tuple[str, ...]) -> Outcome:
    """Return what upstream gives no result for, because nothing could be looked at."""
    return Outcome(RuleStatus.SKIP, "", unchecked=unchecked, silent=True)


def skipped(message: str, exceptions: tuple[str, ...] = ()) -> Outcome:
    """Return a skip, with the keys of the exceptions that brought it about."""
    return Outcome(RuleStatus.SKIP, message, exceptions=exceptions)
