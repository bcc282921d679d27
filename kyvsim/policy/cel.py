"""Expressions in CEL, in rules and in Kubernetes' own policies: nodes and their readers."""

from collections.abc import Mapping
from typing import NamedTuple

from kyvsim.kubernetes.objects import Json, Path
from kyvsim.policy.read import read_each, read_text


class CelExpression(NamedTuple):
    """An expression in CEL with what a failure says."""

    path: Path
    expression: str
    message: str
    message_expression: str
    reason: str


class NamedExpression(NamedTuple):
    """An expression in CEL with a name: a match condition, a variable, an annotation."""

    path: Path
    name: str
    expression: str


class ParamKind(NamedTuple):
    """The kind of the parameters of expressions in CEL."""

    path: Path
    api_version: str
    kind: str


class ParamRef(NamedTuple):
    """Which objects are parameters of expressions in CEL."""

    path: Path
    name: str
    namespace: str
    selector: Mapping[str, Json] | None
    parameter_not_found_action: str


class CelValidation(NamedTuple):
    """The `cel` block of a validate rule."""

    path: Path
    generate: bool | None
    expressions: tuple[CelExpression, ...]
    audit_annotations: tuple[NamedExpression, ...]
    variables: tuple[NamedExpression, ...]
    param_kind: ParamKind | None
    param_ref: ParamRef | None


def read_cel(data: Mapping[str, Json], path: Path) -> CelValidation:
    """Return the `cel` block of a validate rule."""
    return CelValidation(
        path,
        generate=data.get("generate"),
        expressions=read_expressions(data, "expressions", path),
        audit_annotations=read_named_expressions(data, "auditAnnotations", path),
        variables=read_named_expressions(data, "variables", path),
        param_kind=read_param_kind(data.get("paramKind"), (*path, "paramKind")),
        param_ref=read_param_ref(data.get("paramRef"), (*path, "paramRef")),
    )


def read_param_kind(data: Json, path: Path) -> ParamKind | None:
    """Return the kind of parameters, None where there is none."""
    if data is None:
        return None
    return ParamKind(path, read_text(data, "apiVersion"), read_text(data, "kind"))


def read_param_ref(data: Json, path: Path) -> ParamRef | None:
    """Return a reference to parameters, None where there is none."""
    if data is None:
        return None
    return ParamRef(
        path,
        name=read_text(data, "name"),
        namespace=read_text(data, "namespace"),
        selector=data.get("selector"),
        parameter_not_found_action=read_text(data, "parameterNotFoundAction"),
    )


def _expression(data: Mapping[str, Json], path: Path) -> CelExpression:
    return CelExpression(
        path,
        read_text(data, "expression"),
        read_text(data, "message"),
        read_text(data, "messageExpression"),
        read_text(data, "reason"),
    )


def read_expressions(data: Mapping[str, Json], field: str, path: Path) -> tuple[CelExpression, ...]:
    """Return the validations in a field; null stands for an empty one."""
    listed = [one or {} for one in data.get(field) or ()]
    return read_each(listed, (*path, field), _expression) or ()


def read_named_expressions(
    data: Mapping[str, Json], field: str, path: Path
) -> tuple[NamedExpression, ...]:
    """Return the variables, match conditions or audit annotations in a field."""
    read = _annotation if field == "auditAnnotations" else _named
    return read_each(data.get(field), (*path, field), read) or ()


def read_match_conditions(data: Json, path: Path) -> tuple[NamedExpression, ...]:
    """Return match conditions, or the CEL preconditions of a rule."""
    return read_each(data, path, _named) or ()


def _named(data: Mapping[str, Json], path: Path) -> NamedExpression:
    return NamedExpression(path, read_text(data, "name"), read_text(data, "expression"))


def _annotation(data: Mapping[str, Json], path: Path) -> NamedExpression:
    return NamedExpression(path, read_text(data, "key"), read_text(data, "valueExpression"))
