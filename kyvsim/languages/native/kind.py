"""What a kind of Kubernetes' admission policies is: a value that names it and compiles its own."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from kyvsim.engine.compile.compiled import CompiledBody
from kyvsim.engine.compile.followed import Ends
from kyvsim.kubernetes.discovery import KindTable
from kyvsim.kubernetes.objects import Json
from kyvsim.languages.native.expressions import ExpressionProblem
from kyvsim.model.policy import Policy
from kyvsim.model.ports import Meter
from kyvsim.model.probe import NO_PROBE, Probe
from kyvsim.model.result import Stage

Compiled: TypeAlias = tuple[CompiledBody, tuple[ExpressionProblem, ...]]


class Surroundings(NamedTuple):
    """What the expressions of a policy are compiled for."""

    kinds: KindTable
    params: Sequence[Json]
    """The value of `params`, or nothing."""
    bound: bool = True
    """Whether `params` is what a binding gives, and not null for want of one that does."""
    probe: Probe = NO_PROBE
    meter: Meter | None = None
    """Counts what they take."""


class NativeKind(NamedTuple):
    """One kind."""

    name: str
    stage: Stage
    compile: Callable[[Policy, Surroundings], Compiled]
    """Returns what judges or changes an object."""
    ends: Ends
    """What can come of a policy, as coverage counts it."""
    binding_property: str
    """Under which name reports tell the binding."""
    tells_faults: bool = False
    """Whether what cannot be compiled is an error of each object, besides being told."""
    answers_always: bool = False
    """Whether tests see an answer where it has nothing to say."""
