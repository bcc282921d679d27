"""Applies the values of mutation expressions to objects: merged objects and JSON patches.

Source of the rules: upstream k8s.io/apiserver pkg/admission/plugin/policy/mutating/patch,
pkg/cel/mutation/dynamic/objects.go; pkg/cel/policies/mpol/compiler.
"""

import json
import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Any, TypeAlias

from kyvsim.cel.errors import CelError
from kyvsim.cel.kyverno.encodings import struct_value
from kyvsim.cel.libraries.admission import (
    JSON_PATCH,
    OBJECT,
    JsonPatchOperation,
    ObjectValue,
    type_mismatches,
)
from kyvsim.cel.types import list_of
from kyvsim.cel.values import (
    Duration,
    JoinedList,
    MadeList,
    MadeMap,
    Optional,
    TextList,
    Timestamp,
    UInt,
    show_timestamp,
    show_value,
    type_name,
)
from kyvsim.kubernetes.go_text import json_kind, quote, to_json
from kyvsim.kubernetes.objects import Json, KubernetesObject
from kyvsim.kubernetes.quantities import with_whole_numbers
from kyvsim.languages.cel_expressions import Compiler
from kyvsim.model.explanation import Step, StepKind
from kyvsim.model.result import RuleStatus
from kyvsim.model.source import Location
from kyvsim.model.tracing import TraceContext, trace_step
from kyvsim.patch.json_patch import (
    KUBERNETES,
    PatchOperation,
    apply_operations,
    moved_removals,
    parse_pointer,
)
from kyvsim.patch.nodes import FailedTestError, PatchError
from kyvsim.patch.structured_merge import Foreign, apply_structured_merge
from kyvsim.policy import cel_policy
from kyvsim.schema.merge_types import FindType

_PLAIN = frozenset({str, bool, int, float, dict, list})
_NAMES = MappingProxyType({"apiversion": "apiVersion", "kind": "kind"})
_TEXT_OR_NULL = frozenset({str, type(None)})
_READ_NAMES = (
    r'struct { APIVersion string "json:\"apiVersion,omitempty\""; '
    r'Kind string "json:\"kind,omitempty\"" }'
)
_NULL = Foreign("structpb.NullValue", "NULL_VALUE", "0")


class MutationError(Exception):
    """An object cannot be mutated as the expression specifies; the text is upstream's."""


Mutation: TypeAlias = Callable[[Sequence[object], Json, list[str]], Json]
"""Returns the mutated object, and adds hints to a list; raises EvaluationError or MutationError."""


def compile_mutation(
    compiler: Compiler, node: cel_policy.Mutation, find_type: FindType, *, replaces: bool = False
) -> Mutation | None:
    """Return the mutation of an entry of `mutations`, None if it has no expression.

    `find_type` returns the types of merged objects; with `replaces`, lists and maps that are
    replaced as a whole may be set.
    """
    if node.expression is None:
        return None
    patches = node.field == "jsonPatch"
    expression = compiler.compile(*node.expression, list_of(JSON_PATCH) if patches else OBJECT)
    text, path = node.expression
    trace = compiler.trace.to(path)
    if patches:
        return _located(
            lambda values, obj, hints: patch_object(expression.value(values), obj, hints),
            text,
            trace,
        )

    def merge(values: Sequence[object], obj: KubernetesObject, _hints: list[str]) -> Json:
        value = expression.value(values)
        _check_types(value)
        try:
            return apply_structured_merge(obj, _fields(value), find_type, replaces=replaces)
        except PatchError as error:
            raise MutationError(f"error applying patch: {error}") from None

    return _located(merge, text, trace)


_NAMED_IN_ERROR = re.compile(r"'(/[^']+)'|kind: (\w+)|\.(\w+)(?=:|$)|\b(\w+): (?:missing|type)")


def _located(mutation: Mutation, text: str, trace: TraceContext) -> Mutation:
    """Return a mutation that reports the part of its expression that an error names.

    The value of the expression has no positions, so the name is searched in the text.
    """
    if not trace.takes_steps:
        return mutation

    @lru_cache(maxsize=64)
    def place_of(part: str) -> Location | None:
        return trace.locate_in(text, text.find(part)) if part else trace.locate()

    def run(values: Sequence[object], obj: KubernetesObject, hints: list[str]) -> Json:
        try:
            return mutation(values, obj, hints)
        except MutationError as error:
            names = [
                name for found in _NAMED_IN_ERROR.findall(str(error)) for name in found if name
            ]
            part = next((name for name in names if name in text), "")
            trace_step(
                trace,
                Step(
                    StepKind.EXPRESSION,
                    "mutation",
                    part or text.strip(),
                    answer=RuleStatus.ERROR,
                    note=str(error),
                    place=place_of(part),
                ),
            )
            raise

    return run


def with_whole_results(mutation: Mutation) -> Mutation:
    """Return a mutation that converts whole numbers to ints."""
    return lambda values, obj, hints: with_whole_numbers(mutation(values, obj, hints))


def patch_object(
    operations: Iterable[JsonPatchOperation], obj: KubernetesObject, hints: list[str]
) -> Json:
    """Return an object changed by the JSON patch of an expression; raises MutationError.

    If a `test` of the patch fails, the object is unchanged.
    """
    prepared = [_operation(one) for one in operations]
    try:
        patched = apply_operations(obj, prepared, KUBERNETES)
    except FailedTestError:
        return obj
    except PatchError as error:
        raise MutationError(f"JSON Patch: {error}") from None
    hints += moved_removals(obj, prepared)
    # Upstream decodes them case-insensitively (apimachinery's
    # pkg/runtime/serializer/json/meta.go).
    found = patched if patched.__class__ is dict else {}
    if found is not patched and patched is not None:
        raise _unread(patched, f"value of type {_READ_NAMES}")
    for key in sorted(found):
        name = _NAMES.get(key.lower())
        if name and found[key].__class__ not in _TEXT_OR_NULL:
            raise _unread(found[key], f"struct field .{name} of type string")
    version = found.get("apiVersion") or ""
    if version.count("/") > 1:
        raise MutationError(f"Internal error occurred: unexpected GroupVersion string: {version}")
    if patched is None or not patched.get("kind"):
        shown = to_json(patched)
        raise MutationError(f"Internal error occurred: Object 'Kind' is missing in '{shown}'")
    return patched


def _unread(value: object, wanted: str) -> MutationError:
    return MutationError(
        "Internal error occurred: couldn't get version/kind; json parse error: json: "
        f"cannot unmarshal {json_kind(value)} into Go {wanted}"
    )


def _check_types(value: ObjectValue) -> None:
    found = list(type_mismatches(value, value.type_name))
    if found:
        raise MutationError("type mismatch: " + "\n".join(found))


def _fields(value: dict[str, object]) -> dict[str, Json]:
    return {name: _field(one) for name, one in value.items()}


def _field(value: object) -> Json:
    """Return the value of a field; lists and maps are converted as deep as in upstream."""
    if value.__class__ is MadeList:
        return [_element(one) for one in value]
    if value.__class__ is MadeMap:
        found: dict[str, object] = {}
        for key, one in value.items():
            if key.__class__ is not str:
                return Foreign("*types.Err", "map key is not string", "map key is not string")
            found[key] = _element(one)
        return found
    return _element(value)


def _element(value: Any) -> Json:
    kind = value.__class__
    if isinstance(value, ObjectValue):
        return _fields(value)
    if kind is Optional:
        return _element(value.value) if value.present else None
    if kind in _PLAIN:
        return value
    if kind is JoinedList:
        return [_element(one) for one in value]
    return _NULL if value is None else _foreign(value)


def _foreign(value: Any) -> Foreign:
    """Return a value that JSON does not have, as Go prints it."""
    kind = value.__class__
    if kind is MadeMap:
        shown = " ".join(f"{show_value(key)}:{show_value(one)}" for key, one in value.items())
        inner = ", ".join(f"{_literal(key)}:{_literal(one)}" for key, one in value.items())
        return Foreign("map[ref.Val]ref.Val", f"map[{shown}]", f"map[ref.Val]ref.Val{{{inner}}}")
    if kind is TextList:
        inner = ", ".join(map(quote, value))
        return Foreign("[]string", f"[{' '.join(value)}]", f"[]string{{{inner}}}")
    if kind is MadeList:
        shown = " ".join(map(show_value, value))
        inner = ", ".join(map(_literal, value))
        return Foreign("[]ref.Val", f"[{shown}]", f"[]ref.Val{{{inner}}}")
    if kind is UInt:
        return Foreign("uint64", str(int(value)), hex(value))
    if kind is bytes:
        shown = " ".join(map(str, value))
        return Foreign("[]uint8", f"[{shown}]", f"[]uint8{{{', '.join(map(hex, value))}}}")
    if kind is Duration:
        return Foreign("time.Duration", show_value(value), str(value.nanoseconds))
    if kind is Timestamp:
        shown = show_timestamp(value).replace("T", " ").replace("Z", " +0000 UTC")
        return Foreign("time.Time", shown, shown)
    return Foreign(type_name(value), show_value(value), show_value(value))


def _literal(value: object) -> str:
    return quote(value) if value.__class__ is str else show_value(value)


def _operation(written: JsonPatchOperation) -> PatchOperation:
    source = written["from"]
    try:
        # upstream quotes it by Go's rules and decodes it as JSON
        name = str(json.loads(quote(written["op"])))
    except ValueError:
        name = "unknown"
    return PatchOperation(
        name=name,
        path=parse_pointer(written["path"]),
        source=parse_pointer(source) if source else None,
        value=_json(written["value"]) if "value" in written else None,
        has_value="value" in written,
    )


def _json(value: object) -> Json:
    if isinstance(value, ObjectValue):
        _check_types(value)
    try:
        return _of_object(_fields(value)) if isinstance(value, ObjectValue) else struct_value(value)
    except CelError as error:
        raise MutationError(
            f"JSONPath valueExpression evaluated to a type that could not marshal to JSON: {error}"
        ) from None


def _of_object(value: Json) -> Json:
    """Return the fields of an object literal as JSON: all numbers are doubles."""
    kind = value.__class__
    if isinstance(value, Foreign):
        if value.go_type == "uint64":
            return float(value.shown)
        raise CelError(f"proto:\u00a0invalid type: {value.go_type}")
    if kind is dict:
        return {name: _of_object(one) for name, one in value.items()}
    if kind is list:
        return [_of_object(one) for one in value]
    return float(value) if kind is int else value
