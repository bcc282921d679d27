"""ValidatingAdmissionPolicy: what it says of a request.

Source of the rules: k8s.io/apiserver pkg/admission/plugin/policy/validating (validator.go,
dispatcher.go).
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from kyvsim.cel.kubernetes import VARIABLES_TYPE
from kyvsim.cel.lazy_variables import LazyVariables
from kyvsim.kube.objects import Json
from kyvsim.languages.cel_validator import (
    Declared,
    FaultError,
    Validator,
    compile_validator,
    variable_value,
)
from kyvsim.languages.native.validating_admission_policy import audit_annotations
from kyvsim.model.source import Path
from kyvsim.sim.admission_policies.bound import Asked, Invocation
from kyvsim.sim.admission_policies.values import VARIABLES, values_of

INVALID = "Invalid"


class Decision(NamedTuple):
    """Why a policy does not let a request pass."""

    message: str
    reason: str = INVALID
    always: bool = False
    """Whether it refuses the request whatever the binding's actions are."""
    is_fault: bool = False
    """Whether the policy could not be evaluated, and has decided nothing."""
    ignored: bool = False
    """Whether that counts for nothing, as the failure policy has it."""


def decisions(invocation: Invocation, asked: Asked) -> tuple[Decision, ...] | None:
    """Return why a policy does not let a request pass, in the order of its validations.

    None where its match conditions do not hold: then it says nothing of the request.
    """
    closed = invocation.fails_closed
    if invocation.fault:
        return (Decision(invocation.fault, always=True, is_fault=True, ignored=not closed),)
    validator = _validator(invocation.policy)
    values = values_of(invocation, asked, asked.request.object)
    values[VARIABLES] = LazyVariables(VARIABLES_TYPE, validator.variables, values, variable_value)
    unmet = validator.unmet(values)
    if unmet is not None:
        return (Decision(unmet, is_fault=True, ignored=not closed),) if unmet else None
    return tuple(_refusals(invocation, validator, values))


def _refusals(
    invocation: Invocation, validator: Validator, values: list[Any]
) -> Iterator[Decision]:
    closed = invocation.fails_closed
    written = invocation.policy["spec"].get("validations") or ()
    for entry, validation in zip(written, validator.validations, strict=True):
        refusal = validation.refusal(values)
        if refusal is not None and not refusal.is_fault:
            yield Decision(refusal.message, entry.get("reason") or INVALID)
        elif refusal is not None:
            yield Decision(refusal.message, is_fault=True, ignored=not closed)
    if closed:
        yield from _unannotated(invocation.policy, validator, values)


def _unannotated(policy: Json, validator: Validator, values: list[Any]) -> Iterator[Decision]:
    """Yield what is wrong with annotations for the audit log, which nobody reads here."""
    for _, one in audit_annotations(policy["spec"], validator):
        try:
            one.value(values)
        except FaultError as fault:
            yield Decision(str(fault), always=True, is_fault=True)


def validating_problems(policy: Json) -> Iterator[tuple[Path, str, str]]:
    """Yield place, text and fault of the expressions that cannot be compiled."""
    validator = _validator(policy)
    placed = ((("spec", *path), one) for path, one in validator.placed())
    for path, one in (*audit_annotations(policy["spec"], validator), *placed):
        if one.program is None:
            yield path, one.text, one.problem


def _validator(policy: Json) -> Validator:
    spec = policy["spec"]
    return compile_validator(
        spec.get("variables") or (),
        spec.get("matchConditions") or (),
        spec.get("validations") or (),
        Declared(params=bool(spec.get("paramKind"))),
    )
