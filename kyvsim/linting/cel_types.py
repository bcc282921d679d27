"""Checks of CEL by the types of the matched kinds, as an API server checks admission policies."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from kyvsim.cel import types
from kyvsim.cel.checker import Checked, check
from kyvsim.cel.environment import StructType
from kyvsim.cel.nodes import Call, Literal, Node, Select, StructLiteral
from kyvsim.cel.types import DYN, CelType, Substitutions, list_of, map_of
from kyvsim.cel.unparse import written
from kyvsim.linting.cel_logic import unlike_default
from kyvsim.linting.cel_policy import (
    CelPolicy,
    ParsedExpression,
    changed_types,
    element_of,
    field_of,
    matched_types,
)
from kyvsim.model.diagnostic import Diagnostic, Instead, listed
from kyvsim.schema.hints import field_hint
from kyvsim.schema.merge_types import BOOLEAN, NUMERIC, STRING, UNTYPED, Type

_MARK = "\0"
"""The start of the names of types that expressions only read."""
_SCALARS: Mapping[str, CelType] = {STRING: types.STRING, BOOLEAN: types.BOOL}
_COMPARED: Mapping[str, str] = {
    **dict.fromkeys(("_==_", "_!=_"), "is never equal to"),
    **dict.fromkeys(("_<_", "_<=_", "_>_", "_>=_"), "cannot be compared with"),
    "@in": "is never in",
}
_SWITCHES = frozenset({"true", "false"})
_NOUNS: Mapping[str, str] = {
    "bool": "a boolean",
    "double": "a number",
    "int": "a number",
    "list": "a list",
    "map": "a map",
    "string": "a string",
}


_CONVERTED = frozenset({"bool", "double", "duration", "int", "timestamp", "uint"})
"""Types that the function `string` converts."""


def _cel_type(found: Type | None, name: str, number: CelType) -> CelType:
    """Return the type of values of a type; objects have a name that is the path to them.

    `number` is the type of numbers: those of requests can be of both types.
    """
    if found is None or (found.scalar and (found.sequence or found.mapping)):
        return DYN
    if found.sequence is not None:
        return list_of(_cel_type(element_of(found), name, number))
    if found.mapping is None:
        if found.scalar == UNTYPED and name.endswith(("Timestamp", "Time")):
            return types.STRING
        return number if found.scalar == NUMERIC else _SCALARS.get(found.scalar, DYN)
    if found.mapping.others is None:
        return types.struct(name)
    return (
        DYN
        if found.mapping.fields
        else map_of(types.STRING, _cel_type(field_of(found, ""), name, number))
    )


class _Problem(NamedTuple):
    code: str
    text: str
    instead: Instead | None = None
    """A part of the expression, and what is certainly meant."""


class _KindFields(Mapping[str, Mapping[str, CelType]]):
    """The fields of objects by the name of their type; those of a kind on demand."""

    def __init__(
        self, known: Mapping[str, Mapping[str, CelType]], kind: Type, number: CelType
    ) -> None:
        self._number = number
        self._known = dict(known)
        self._kind = kind

    def __getitem__(self, name: str) -> Mapping[str, CelType]:
        if name not in self._known and name.startswith(_MARK):
            found = _at(self._kind, name)
            self._known[name] = {} if found is None else dict(self._fields_of(found, name))
        return self._known[name]

    def _fields_of(self, found: Type, name: str) -> Iterator[tuple[str, CelType]]:
        lists: dict[str, Type] = {}
        for field in found.mapping.fields if found.mapping else ():
            inner = field_of(found, field)
            at = field
            if inner is not None and inner.sequence is not None:
                # Equal lists, such as `containers` and `initContainers`, can be added.
                at = next((one for one, known in lists.items() if known == inner), field)
                lists.setdefault(at, inner)
            yield field, _cel_type(inner, f"{name}.{at}", self._number)

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)

    def add(self, name: str, field: str, kind: CelType) -> None:
        """Add a field to a type, such as a variable of the policy."""
        self._known[name] = {**self._known.get(name, {}), field: kind}


def _at(kind: Type, name: str) -> Type | None:
    """Return the object at the path that a name is; lists represent their elements."""
    here: Type | None = kind
    for field in name.split(".")[1:]:
        here = field_of(here, field) if here is not None else None
        while here is not None and here.mapping is None:
            here = element_of(here)
    return here


class _Checking(NamedTuple):
    """The expressions of a policy, checked for one kind."""

    policy: CelPolicy
    kind: Type
    written: Type | None
    """The type of the objects that the policy changes, if it is the same."""
    number: CelType

    def check(self) -> Iterator[tuple[ParsedExpression, Checked]]:
        """Yield the expressions with the types of their parts."""
        env = self.policy.env
        names = {(*one.path, "expression"): one.name for one in self.policy.spec.variables}
        fields = _KindFields(env.fields, self.kind, self.number)
        own = {"object": types.struct(_MARK), "oldObject": types.struct(_MARK)}
        variables = tuple((name, own.get(name, kind)) for name, kind in env.variables)
        holder = dict(env.variables).get("variables", DYN)
        typed = env._replace(variables=variables, fields=fields, types_defaults=True)
        if self.written is not None:
            typed = typed._replace(structs=(self._struct, *env.structs))
        for one in sorted(self.policy.expressions, key=lambda one: one.path not in names):
            if self.written is None and "bject" not in one.text and "variables" not in one.text:
                continue  # it reads nothing that has a type
            checked = check(one.root, typed)
            if one.path in names:
                fields.add(holder.name, names[one.path], checked.types[one.root.id])
            yield one, checked

    def _struct(self, name: str) -> StructType | None:
        """Return the type of a part of an apply configuration."""
        found = _at(self.kind, name) if name.partition(".")[0] == "Object" else None
        if found is None or found.mapping is None:
            return None

        def type_of(field: str) -> CelType:
            return _cel_type(field_of(found, field), f"{name}.{field}", self.number)

        return StructType(type_of, dict)

    def problems(self) -> dict[tuple[int, int], tuple[ParsedExpression, _Problem]]:
        """Return what is wrong, by the number of the expression and the offset in it."""
        found = {}
        for number, (one, checked) in enumerate(self.check()):
            calls = (node for node in one.nodes() if isinstance(node, Call))
            nodes = {node.at: node for node in calls} if checked.issues else {}
            for at, message in checked.issues:
                call = nodes.get(at)
                # Objects are maps, which the checker does not know.
                is_list = message.startswith("type 'list(") and "field selection" in message
                is_certain = _MARK not in message or _indexes_list(call, checked) or is_list
                if missing := self._missing_member(call, checked):
                    found[number, at] = (one, _Problem("KV325", missing))
                    continue
                problem = _explained(call, message, checked)
                if problem and is_certain and "undefined" not in message:
                    found[number, at] = (one, problem)
            for node in one.nodes() if one.is_test else ():
                if field := self._ignored_switch(node, checked):
                    text = (
                        f"`has` only tests whether `{field}` is set, so `true` and `false` are "
                        "the same to the policy: compare its value"
                    )
                    found[number, node.at] = (one, _Problem("KV394", text))
            for node in one.nodes() if self.written is not None else ():
                if text := self._written_problem(node, checked):
                    found[number, node.at] = (one, _Problem("KV327", text))
        return found

    def _missing_member(self, node: Call | None, checked: Checked) -> str:
        """Return why `in` never finds a constant in an object or in a list of objects, or ""."""
        member = node.arguments[0] if node is not None and node.function == "@in" else None
        if node is None or not isinstance(member, Literal):
            return ""
        name, owner = member.value, node.arguments[1]
        kind, shown = checked.types[owner.id], written(owner)
        if kind.kind == "list":
            is_object = kind.parameters[0].name.startswith(_MARK)
            advice = f"write `{shown}.exists(e, e.name == {written(member)})`, or the like"
            return f"`{shown}` has objects, none of which is a constant: {advice}" * is_object
        found = _at(self.kind, kind.name) if kind.name.startswith(_MARK) else None
        fields = found.mapping.fields if found and found.mapping else {}
        if found is None or not fields or not isinstance(name, str) or name in fields:
            return ""
        lists = [one for one in fields if (each := field_of(found, one)) and each.sequence]
        hint = field_hint(name, fields, [found])
        if not hint and lists:
            hint = f": search in {listed(lists)} of it"
        return f"`in` looks for a field of `{shown}`, and it has none of the name `{name}`{hint}"

    def _ignored_switch(self, node: Node, checked: Checked) -> str:
        """Return the boolean field that a node requires, whose value no expression reads, or ""."""
        if not isinstance(node, Select) or not node.test:
            return ""
        owner = checked.types[node.operand.id].name
        found = _at(self.kind, owner) if owner.startswith(_MARK) else None
        kind = field_of(found, node.field) if found else None
        uses = [one for one in self.policy.nodes() if one != node and _names(one, node.field)]
        is_negated = any(
            isinstance(one, Call) and one.function == "!_" and node in one.arguments
            for one in self.policy.nodes()
        )
        is_ignored = kind is not None and kind.scalar == BOOLEAN and not uses and not is_negated
        return node.field if is_ignored else ""

    def _written_problem(self, node: Node, checked: Checked) -> str:
        """Return why an API server rejects the value that a JSON patch writes, or ""."""
        is_patch = isinstance(node, StructLiteral) and node.type_name.lstrip(".") == "JSONPatch"
        if not isinstance(node, StructLiteral) or not is_patch or self.written is None:
            return ""
        values = {field.name: field.value for field in node.fields}
        path, value = values.get("path"), values.get("value")
        if not isinstance(path, Literal) or value is None:
            return ""
        here: Type | None = self.written
        for step in str(path.value).split("/")[1:]:
            key = step.replace("~1", "/").replace("~0", "~")
            is_map = here is not None and here.mapping is not None
            here = here and (field_of(here, key) if is_map else element_of(here))
        expected, given = _cel_type(here, "Object", self.number), checked.types[value.id]
        is_object = any(
            "Object" in types.show(one) or _MARK in types.show(one) for one in (expected, given)
        )
        if is_object or Substitutions().assignable((given,), (expected,)):
            return ""
        shown = f"{types.show(given)} instead of {types.show(expected)}"
        return f"an API server rejects this value of `{path.value}`: {shown}"


def _names(node: Node, field: str) -> bool:
    is_field = isinstance(node, Select) and node.field == field and not node.test
    return is_field or (isinstance(node, Literal) and node.value == field)


def _indexes_list(node: Call | None, checked: Checked) -> bool:
    """Return whether a list is indexed with a string."""
    if node is None or node.function != "_[_]":
        return False
    kinds = [checked.types[one.id].kind for one in node.arguments]
    return kinds == ["list", "string"]


def _noun(kind: CelType) -> str:
    return _NOUNS.get(kind.kind, types.show(kind))


def _explained(node: Call | None, message: str, checked: Checked) -> _Problem | None:
    """Return what an issue of the checker means, None if it is no problem for all values."""
    if "expected type of field" in message:
        # Objects are also written as maps, and maps as objects such as `Object.metadata.labels{}`.
        is_object = "Object" in message
        text = f"an API server rejects this value: {message}"
        return None if is_object else _Problem("KV327", text)
    if node is None or "matching overload" not in message:
        text = f"this is always an error: {message}"
        if message.startswith("type 'list("):
            text = "this is always an error: a list has no fields (write `list.all(e, e.field …)`)"
        if "'string' does not support field selection" in message:
            text = (
                f"{text} (functions are called, as `text.size()`; macros such as `all` take the "
                "keys of a map: the value is `map[key]`)"
            )
        return _Problem("KV350", text)
    parts = [node.target, *node.arguments] if node.target else list(node.arguments)
    if any(isinstance(one, Literal) and one.value is None for one in parts):
        return None
    if node.function in _COMPARED and isinstance(parts[0], Literal):
        parts.reverse()
    if node.function in _COMPARED and parts[0] and parts[1]:
        return _unlike(node, parts[0], parts[1], checked)
    nouns = [_noun(checked.types[one.id]) for one in parts if one]
    name = node.function.strip("_")
    whole = written(node)
    text = f"`{whole}` is always an error: `{name}` of {' and '.join(nouns)}"
    if name == "-" and {checked.types[one.id].kind for one in parts} == {"string", "timestamp"}:
        times = (written(one) for one in parts if checked.types[one.id] == types.STRING)
        text = f"{text}: write `timestamp({next(times)})`"
    # Texts are only joined with texts.
    others = [one for one in parts if one and checked.types[one.id].kind in _CONVERTED]
    if node.function == "_+_" and "a string" in nouns and len(others) == 1:
        part = written(others[0])
        changed = whole.replace(part, f"string({part})")
        instead = (whole, changed) if whole.count(part) == 1 else None
        return _Problem("KV350", f"{text}: write `string({part})`", instead)
    return _Problem("KV350", text)


def _unlike(node: Call, one: Node, other: Node, checked: Checked) -> _Problem | None:
    """Return that two values of different types are compared; `other` may be a constant."""
    if unlike_default(one, other):
        return None  # see KV240
    kind, second = checked.types[one.id], checked.types[other.id]
    compared, part = written(node), written(other)
    if node.function == "@in" and second == types.STRING:
        where, what = (written(each) for each in node.arguments[::-1])
        text = f"`in` finds elements of lists and keys of maps, and `{where}` is a string"
        meant = f"{where}.contains({what})"
        return _Problem("KV324", f"{text}: write `{meant}`", (compared, meant))
    text = f"`{written(one)}` is {_noun(kind)}, which {_COMPARED[node.function]} `{part}`"
    meant = _as_literal(node, other, kind)
    if {kind.kind, second.kind} == {"string", "timestamp"}:
        part = written(one) if kind == types.STRING else part
        meant = f"timestamp({part})"
        text = f"{text}, a timestamp: write `{meant}`"
    is_certain = meant and compared.count(part) == 1
    return _Problem(
        "KV324", text, (compared, compared.replace(part, meant)) if is_certain else None
    )


def _as_literal(node: Call, other: Node, kind: CelType) -> str:
    """Return a constant as one of the type with which it is compared, or ""."""
    value = other.value if isinstance(other, Literal) else None
    if isinstance(value, str):
        is_number = value.isdecimal() and kind.kind in {"int", "double"}
        return value if is_number or (value in _SWITCHES and kind.kind == "bool") else ""
    # The order of strings is another one than that of numbers.
    is_text = isinstance(value, bool | int) and node.function in {"_==_", "_!=_"}
    return f'"{written(other)}"' if is_text and kind.kind == "string" else ""


def type_problems(policy: CelPolicy) -> Iterator[Diagnostic]:
    """KV324, KV327, KV350, KV394: what no matched kind allows, or makes useless, by its types.

    upstream: k8s.io/apiserver pkg/admission/plugin/policy/validating/typechecking.go, which reports
    each kind; here only what is wrong for all kinds.
    """
    if policy.spec.target_match_constraints or policy.policy.facts.judges is not None:
        return  # `object` is also a target, of another kind, or a payload
    changed = changed_types(policy)
    kept: dict[tuple[int, int], tuple[ParsedExpression, _Problem]] | None = None
    for kind in matched_types(policy):
        for number in (types.INT, types.DOUBLE):
            if kept is None or kept:
                found = _Checking(policy, kind, kind if changed else None, number).problems()
                kept = found if kept is None else {key: kept[key] for key in kept if key in found}
    for one, (code, text, instead) in (kept or {}).values():
        yield policy.warn(code, text, one.path, instead=instead)
