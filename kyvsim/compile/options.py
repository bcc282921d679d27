"""What compiling depends on besides the policies."""

from enum import StrEnum
from typing import NamedTuple

from kyvsim.expr import Environment
from kyvsim.model.exception import PolicyException


class Model(StrEnum):
    """Which reading of `spec.background` generate rules follow."""

    KYVERNO = "kyverno-1.19"
    """The code of Kyverno 1.19: generation does not depend on it."""
    BACKGROUND_GATES_GENERATE = "background-gates-generate"
    """The report of story 000: with `background: false` new objects generate nothing."""


class CompileOptions(NamedTuple):
    """Clock and entropy for expressions, exceptions to attach, the model to follow."""

    environment: Environment
    exceptions: tuple[PolicyException, ...] = ()
    model: Model = Model.KYVERNO
