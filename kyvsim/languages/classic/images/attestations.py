"""Attestations: statements about an image that a rule asks for, and the conditions on them.

upstream: pkg/engine/internal/imageverifier.go (`verifyAttestations`)
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from kyvsim.engine.conditions import ConditionError, ConditionsResult, compile_conditions
from kyvsim.engine.context import JSONContext
from kyvsim.kubernetes.objects import Json
from kyvsim.languages.classic.images.attestors import (
    authority_of,
    expand_keys,
    required_count,
    signed_by,
)
from kyvsim.languages.classic.rule_type import RuleContext
from kyvsim.model.values import Attestation

Conditions = Callable[[JSONContext], ConditionsResult]

_ANYONE: Mapping[str, Json] = MappingProxyType({"entries": ({},)})


class AttestationError(Exception):
    """Attestations that are missing or say something else than they should."""


class Wanted(NamedTuple):
    """One attestation that a rule asks for."""

    conditions: Conditions | None


def compile_wanted(entry: Mapping[str, Json], context: RuleContext) -> tuple[Wanted, ...]:
    """Return the conditions of an entry's attestations, compiled; the context is the entry's."""

    def compile_one(index: int, one: Json) -> Wanted:
        if not one.get("conditions"):
            return Wanted(None)
        probe = context.probe.at("attestations", index, "conditions")
        return Wanted(compile_conditions(one["conditions"], context.system, probe))

    return tuple(compile_one(*one) for one in enumerate(entry.get("attestations") or ()))


def check_attestations(
    entry: Mapping[str, Json],
    wanted: Sequence[Wanted],
    given: Sequence[Attestation],
    scope: JSONContext,
) -> JSONContext:
    """Return the context with the statements under their names.

    Raises `AttestationError` where an attestation is missing, unsigned or says something else.
    """
    for index, (spec, conditions) in enumerate(zip(entry["attestations"], wanted, strict=True)):
        scope = _check_one(spec, (entry, conditions), given, (scope, f".attestations[{index}]"))
    return scope


def _check_one(
    spec: Json,
    asked: tuple[Mapping[str, Json], Wanted],
    given: Sequence[Attestation],
    where: tuple[JSONContext, str],
) -> JSONContext:
    (entry, wanted), (scope, path) = asked, where
    kind = spec.get("type") or spec.get("predicateType")
    if not kind:
        raise AttestationError(f"{path}: missing type")
    for number, attestors in enumerate(spec.get("attestors") or (_ANYONE,)):
        entries = expand_keys(attestors.get("entries") or ())
        required = required_count(attestors, entries)
        verified, problems = 0, []
        for position, one in enumerate(entries):
            # An empty attestor asks for a statement, whoever made it.
            signed = [item for item in given if not one or signed_by(one, entry, item.signatures)]
            if signed and spec.get("name"):
                scope = scope.layer({spec["name"]: signed[0].predicate})
            problem = _unfit(signed, kind, wanted, scope)
            if problem:
                place = f"{path}.attestors[{number}].entries[{position}]{authority_of(one)}"
                problems.append(f"{place}: {problem}")
            verified += not problem
            if verified >= required:
                break
        if verified < required:
            raise AttestationError(
                f"image attestations verification failed, verifiedCount: {verified}, "
                f"requiredCount: {required}, error: {'; '.join(problems)}"
            )
    return scope


def _unfit(signed: Sequence[Attestation], kind: str, wanted: Wanted, scope: JSONContext) -> str:
    """Return what is wrong with the statements of an attestor, or ""."""
    if not signed:
        return "no matching attestations"
    statements = [one for one in signed if one.type == kind]
    if not statements:
        return f"attestions not found for predicate type {kind}"
    if wanted.conditions is None:
        return ""
    for one in statements:
        if one.predicate.__class__ is not dict:
            return "failed to check attestations: failed to extract predicate from statement"
        try:
            result = wanted.conditions(scope.layer(one.predicate))
        except ConditionError as error:
            return f"failed to check attestations: {error}"
        if not result.met:
            image = scope.root(frozenset())["image"]["reference"]
            return f"attestation checks failed for {image} and predicate {kind}: {result.messages}"
    return ""
