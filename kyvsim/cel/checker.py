"""Type checking: the types of an expression's nodes, and errors in constants and formats."""

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from types import MappingProxyType
from typing import Any, NamedTuple

from kyvsim.cel import nodes, types
from kyvsim.cel.conversion import int_to_timestamp, text_to_duration, text_to_timestamp
from kyvsim.cel.environment import Environment, FunctionDecl, Overload
from kyvsim.cel.errors import CelError, Issue
from kyvsim.cel.macros import OR_VALUE
from kyvsim.cel.nodes import Node, children, dotted_name
from kyvsim.cel.string_format import CLAUSE_ERRORS, LATEST_CLAUSE_ERRORS, fill
from kyvsim.cel.types import DYN, ERROR, CelType, Substitutions, list_of, map_of, show
from kyvsim.cel.values import runtime_type
from kyvsim.kubernetes.regexes import RegexError, compile_regex

# The types of an expression's parts; errors that do not depend on evaluation.
#
# Source of the rules: upstream cel-go checker/checker.go. Loops are checked like their expansions
# in upstream, so that messages contain the same operators and positions.

TYPE_NAMES = MappingProxyType(
    {
        one.name: types.type_of(one)
        for one in (
            types.BOOL,
            types.BYTES,
            types.DOUBLE,
            types.DURATION,
            types.INT,
            list_of(types.parameter("A")),
            map_of(types.parameter("A"), types.parameter("B")),
            types.NULL,
            types.STRING,
            types.TIMESTAMP,
            types.TYPE,
            types.UINT,
            types.optional_of(types.parameter("V")),
        )
    }
)
"""The names of types in expressions."""


class Checked(NamedTuple):
    """The results of type checking, by node number."""

    types: dict[int, CelType]
    overloads: dict[int, tuple[FunctionDecl, tuple[Overload, ...]]]
    """For each call: the function, and the overloads that its arguments may match."""
    names: dict[int, str]
    """For each node that is a variable or type: its full name."""
    issues: list[Issue]


def check(root: Node, env: Environment) -> Checked:
    """Return the types and overloads of an expression and all of its parts."""
    checker = _Checker(env)
    checker.visit(root)
    found = checker.checked
    for number, kind in found.types.items():
        found.types[number] = checker.known.resolve(kind, free_is_dyn=True)
    return found


class _Checker:
    """One traversal of the tree, from the leaves up."""

    def __init__(self, env: Environment) -> None:
        self.env = env
        self.known = Substitutions()
        self.checked = Checked({}, {}, {}, [])
        self.variables = dict(env.variables)
        self.scopes: list[dict[str, CelType]] = []

    def visit(self, node: Node) -> CelType:
        found = _VISITORS[node.__class__](self, node)
        self.checked.types[node.id] = found
        return found

    def report(self, at: int, message: str) -> CelType:
        self.checked.issues.append(Issue(at, message))
        return ERROR

    def ident(self, node: nodes.Ident) -> CelType:
        found = self.lookup(node.name)
        if found is None:
            return self.undeclared(node.at, node.name)
        self.checked.names[node.id] = node.name
        return found

    def lookup(self, name: str) -> CelType | None:
        if not name.startswith("."):
            for scope in reversed(self.scopes):
                if name in scope:
                    return scope[name]
        name = name.removeprefix(".")
        return self.variables.get(name) or TYPE_NAMES.get(name)

    def undeclared(self, at: int, name: str) -> CelType:
        return self.report(at, f"undeclared reference to '{name}' (in container '')")

    def select(self, node: nodes.Select) -> CelType:
        name = dotted_name(node)
        if name and not any(name.split(".", 1)[0] in scope for scope in self.scopes):
            found = self.variables.get(name.removeprefix(".")) or TYPE_NAMES.get(name)
            if found is not None:
                self.checked.names[node.id] = name
                return found
        found = self.field(node)
        return types.BOOL if node.test else self.known.resolve(found)

    def field(self, node: nodes.Select) -> CelType:
        operand, was_optional = types.unwrap_optional(self.known.resolve(self.visit(node.operand)))
        found = self.field_of(node, operand)
        optional = was_optional or node.optional
        return types.optional_of(found) if optional else found

    def field_of(self, node: nodes.Select, operand: CelType) -> CelType:
        if operand.kind == "map":
            return operand.parameters[1]
        if operand.kind == "struct":
            fields = self.env.fields.get(operand.name)
            if fields is not None:
                found = fields.get(node.field)
                return found or self.report(node.at, f"undefined field '{node.field}'")
            written = self.env.struct_type(operand.name)
            if written is not None:
                return written.field(node.field)
            return self.report(node.at, f"unexpected failed resolution of '{operand.name}'")
        if operand.kind == "parameter":
            self.known.assignable((DYN,), (operand,))
        elif operand.kind not in {"dyn", "error"}:
            self.report(node.at, f"type '{show(operand)}' does not support field selection")
        return DYN

    def call(self, node: nodes.Call) -> CelType:
        arguments = [self.visit(one) for one in node.arguments]
        target = node.target
        if target is None:
            function = self.env.functions.get(node.function.removeprefix("."))
        else:
            prefix = dotted_name(target)
            function = self.env.functions.get(f"{prefix}.{node.function}") if prefix else None
            if function is not None:
                target = None
            else:
                arguments.insert(0, self.visit(target))
                function = self.env.functions.get(node.function)
        if function is None:
            return self.undeclared(node.at, node.function)
        return self.overload(node, function, arguments, member=target is not None)

    def overload(
        self, node: nodes.Call, function: FunctionDecl, given: list[CelType], *, member: bool
    ) -> CelType:
        if function.name in {"_&&_", "_||_"}:
            return self.logic(node, given)
        found: list[Overload] = []
        result: CelType | None = None
        for overload in function.overloads:
            if overload.member != member or len(overload.arguments) != len(given):
                continue
            arguments, outcome = self.instance(overload)
            if not self.known.assignable(given, arguments):
                continue
            found.append(overload)
            outcome = self.known.resolve(outcome)
            if result is None:
                result = outcome
            elif result.kind != "dyn" and outcome != result:
                result = DYN
        if result is None and self.env.types_defaults and function.name == "_+_":
            kinds = [self.known.resolve(one) for one in given]
            if {one.kind for one in kinds} == {"list"}:
                return kinds[0]  # lists of other objects have fields in common
        if result is None:
            shown = _signature([self.known.resolve(one, free_is_dyn=True) for one in given], member)
            return self.no_overload(node.at, function.name, shown)
        self.checked.overloads[node.id] = (function, tuple(found))
        is_default = function.name == OR_VALUE and self.env.types_defaults
        return self.defaulted(*given) if is_default else result

    def defaulted(self, operand: CelType, default: CelType) -> CelType:
        """Return the type of `orValue` if operand and default have one, or are both numbers."""
        found, _ = types.unwrap_optional(self.known.resolve(operand))
        given = self.known.resolve(default)
        if not {found.kind, given.kind}.isdisjoint({"dyn", "error", "parameter"}):
            return DYN
        are_numbers = {found.kind, given.kind} <= {"int", "uint", "double"}
        return found if are_numbers or self.known.assignable((given,), (found,)) else DYN

    def instance(self, overload: Overload) -> tuple[tuple[CelType, ...], CelType]:
        """Return the overload's arguments and result with fresh type variables."""
        names: dict[str, CelType] = {}
        arguments = tuple([self.fresh(one, names) for one in overload.arguments])
        return arguments, self.fresh(overload.result, names)

    def fresh(self, kind: CelType, names: dict[str, CelType]) -> CelType:
        if kind.kind == "parameter":
            if kind.name not in names:
                names[kind.name] = self.known.fresh()
            return names[kind.name]
        if not kind.parameters:
            return kind
        inner = tuple([self.fresh(one, names) for one in kind.parameters])
        return CelType(kind.kind, kind.name, inner)

    def no_overload(self, at: int, name: str, shown: str) -> CelType:
        return self.report(at, f"found no matching overload for '{name}' applied to '{shown}'")

    def logic(self, node: nodes.Call, given: list[CelType]) -> CelType:
        parts = zip(node.arguments, given, strict=True)
        ok = [self.expects_bool(argument.at, kind) for argument, kind in parts]
        return types.BOOL if all(ok) else ERROR

    def expects_bool(self, at: int, kind: CelType) -> bool:
        if self.known.assignable((kind,), (types.BOOL,)):
            return True
        self.mismatch(at, types.BOOL, kind)
        return False

    def mismatch(self, at: int, expected: CelType, found: CelType) -> CelType:
        return self.report(at, f"expected type '{show(expected)}' but found '{show(found)}'")

    def join(self, previous: CelType | None, current: CelType) -> CelType:
        if previous is None:
            return current
        if self.known.assignable((previous,), (current,)):
            return types.most_general(previous, current)
        return DYN

    def optional_part(self, node: Node) -> CelType:
        found = self.visit(node)
        inner, was_optional = types.unwrap_optional(found)
        if not was_optional and found.kind != "dyn":
            self.mismatch(node.at, types.optional_of(found), found)
        return inner

    def list_literal(self, node: nodes.ListLiteral) -> CelType:
        element: CelType | None = None
        for place, part in enumerate(node.elements):
            found = self.optional_part(part) if place in node.optional else self.visit(part)
            element = self.join(element, found)
        return list_of(element or self.known.fresh())

    def map_literal(self, node: nodes.MapLiteral) -> CelType:
        key: CelType | None = None
        value: CelType | None = None
        for entry in node.entries:
            key = self.join(key, self.visit(entry.key))
            found = self.optional_part(entry.value) if entry.optional else self.visit(entry.value)
            value = self.join(value, found)
        return map_of(key or self.known.fresh(), value or self.known.fresh())

    def struct(self, node: nodes.StructLiteral) -> CelType:
        kind = self.env.struct_type(node.type_name)
        if kind is None:
            return self.undeclared(node.at, node.type_name)
        for field in node.fields:
            found = self.optional_part(field.value) if field.optional else self.visit(field.value)
            expected = kind.field(field.name)
            if field.name not in self.env.fields.get(node.type_name, {field.name: expected}):
                self.report(field.at, f"undefined field '{field.name}'")
            elif not self.known.assignable((expected,), (found,)):
                shown = self.known.resolve(found, free_is_dyn=True)
                self.report(
                    field.at,
                    f"expected type of field '{field.name}' is '{show(expected)}' but provided "
                    f"type is '{show(shown)}'",
                )
        return types.struct(node.type_name)

    def bind(self, node: nodes.Bind) -> CelType:
        self.scopes.append({node.variable: self.visit(node.value)})
        found = self.visit(node.body)
        self.scopes.pop()
        return self.known.resolve(found)

    def loop(self, node: nodes.Loop) -> CelType:
        source = self.known.resolve(self.visit(node.source))
        self.scopes.append(dict(zip(node.variables, self.elements(node, source), strict=True)))
        test = self.visit(node.test) if node.test is not None else None
        result = self.visit(node.result) if node.result is not None else None
        element = self.scopes.pop()[node.variables[0]]
        return self.known.resolve(self.outcome(node, element, test, result))

    def elements(self, node: nodes.Loop, source: CelType) -> tuple[CelType, ...]:
        two = len(node.variables) == 2
        if source.kind == "list":
            element = source.parameters[0]
            return (types.INT, element) if two else (element,)
        if source.kind == "map":
            return source.parameters if two else source.parameters[:1]
        if source.kind in {"dyn", "error", "parameter"} and source != types.ANY:
            self.known.assignable((DYN,), (source,))
            return (DYN, DYN) if two else (DYN,)
        self.report(
            node.source.at,
            f"expression of type '{show(source)}' cannot be range of a comprehension "
            "(must be list, map, or dynamic)",
        )
        return (ERROR, ERROR) if two else (ERROR,)

    def outcome(
        self, node: nodes.Loop, element: CelType, test: CelType | None, result: CelType | None
    ) -> CelType:
        """Return the loop's type, from the types of its element, its test and its result."""
        if node.kind in {"all", "exists"}:
            if test is not None and node.test is not None:
                self.expects_bool(node.test.at, test)
            return types.BOOL
        made: CelType
        if node.kind == "exists_one":
            made = types.INT
        elif node.kind == "transformMap":
            made = map_of(element, result or ERROR)
        elif node.kind == "transformMapEntry":
            made = result or ERROR
        else:
            made = list_of(result if result is not None else element)
        if test is not None and not self.known.assignable((test,), (types.BOOL,)):
            parts = (self.known.resolve(one, free_is_dyn=True) for one in (test, made, made))
            return self.no_overload(node.at, "_?_:_", _signature(list(parts), member=False))
        return types.BOOL if node.kind == "exists_one" else made


def _signature(given: list[CelType], member: bool) -> str:
    shown = [show(one) for one in given]
    if member:
        return f"{shown[0]}.({', '.join(shown[1:])})"
    return f"({', '.join(shown)})"


_VISITORS: Mapping[type, Callable[[_Checker, Any], CelType]] = {
    nodes.Literal: lambda _, node: runtime_type(node.value),
    nodes.Ident: _Checker.ident,
    nodes.Select: _Checker.select,
    nodes.Call: _Checker.call,
    nodes.ListLiteral: _Checker.list_literal,
    nodes.MapLiteral: _Checker.map_literal,
    nodes.StructLiteral: _Checker.struct,
    nodes.Bind: _Checker.bind,
    nodes.Loop: _Checker.loop,
}

# Calls of `format` with constant text and a list literal.
#
# Source of the rules: upstream cel-go ext/formatting.go (stringFormatChecker) and
# ext/formatting_v2.go (stringFormatCheckerV2).

_WHOLE = frozenset({"int", "uint"})
_TAKES = MappingProxyType(
    {
        "d": _WHOLE,
        "o": _WHOLE,
        "f": frozenset({"double", "string"}),
        "e": frozenset({"double", "string"}),
        "b": _WHOLE | {"bool"},
        "x": _WHOLE | {"string", "bytes"},
        "X": _WHOLE | {"string", "bytes"},
    }
)
_NUMBERS = _WHOLE | {"double"}
_PRINTED = (
    _NUMBERS
    | {"string", "bytes", "bool", "null", "type", "timestamp", "duration"}
    | {"list", "map"}
)


class _Clauses(NamedTuple):
    """The argument types of clauses in a version of the strings library."""

    takes: Mapping[str, frozenset[str]]
    """The types that a clause accepts, by its letter; `s` accepts anything that can be printed."""
    errors: Mapping[str, str]
    """The beginning of the message about an argument of another type."""


_PLAIN = _Clauses(_TAKES, CLAUSE_ERRORS)
_LATEST = _Clauses(
    MappingProxyType({**_TAKES, **dict.fromkeys("dfe", _NUMBERS)}), LATEST_CLAUSE_ERRORS
)


class _UnfitArgumentError(CelError):
    """An argument has a type that its clause does not accept."""

    at = 0


def _check_format(node: Node, checked: Checked, clauses: _Clauses) -> Iterator[Issue]:
    """Yield an issue for a call of `format` that cannot succeed."""
    if not isinstance(node, nodes.Call) or node.function != "format" or len(node.arguments) != 1:
        return
    target, listed = node.target, node.arguments[0]
    if not isinstance(target, nodes.Literal) or not isinstance(listed, nodes.ListLiteral):
        return
    given = listed.elements
    used = 0

    def clause(place: int, letter: str, _precision: int | None) -> str:
        nonlocal used
        used = place + 1
        _check_argument(given[place], letter, checked, clauses)
        return ""

    try:
        fill(str(target.value), len(given), clause)
    except _UnfitArgumentError as error:
        yield Issue(error.at, str(error))
    except CelError as error:
        yield Issue(node.at, str(error))
    else:
        if len(given) > used:
            counts = f"(expected {used}, got {len(given)})"
            yield Issue(node.at, f"too many arguments supplied to string.format {counts}")


def _check_argument(argument: Node, letter: str, checked: Checked, clauses: _Clauses) -> None:
    found = checked.types[argument.id]
    takes = _PRINTED if letter == "s" else clauses.takes[letter]
    if found.kind != "dyn" and found.kind not in takes:
        error = _UnfitArgumentError(f"{clauses.errors[letter]}, was given {found.name}")
        error.at = argument.at
        raise error
    if letter == "s" and isinstance(argument, (nodes.ListLiteral, nodes.MapLiteral)):
        for part in children(argument):
            _check_argument(part, letter, checked, clauses)


# Constants that are always invalid: durations, timestamps, patterns, lists of mixed types.
#
# Source of the rules: upstream cel-go cel/validator.go, ext/formatting.go.

_CHECKS: Mapping[str, Callable[..., object]] = {
    "duration": text_to_duration,
    "timestamp": lambda value: (
        text_to_timestamp(value) if isinstance(value, str) else int_to_timestamp(value)
    ),
    "matches": compile_regex,
}


def check_literals(root: Node, checked: Checked, env: Environment) -> list[Issue]:
    """Return the issues of a well-typed expression."""
    parts = _parts(root)
    issues: list[Issue] = []
    if env.checks_literals:
        issues += [issue for node, _ in parts for issue in _check_call(node)]
    if env.checks_mixtures:
        for node, exempt in parts:
            if not exempt:
                issues.extend(_check_mixture(node, checked))
    # The strings library adds this check, so that every environment has it (ext/strings.go).
    clauses = _LATEST if env.latest_formats else _PLAIN
    issues += [issue for node, _ in parts for issue in _check_format(node, checked, clauses)]
    return issues


def _parts(root: Node) -> list[tuple[Node, bool]]:
    """Return every node, and whether it is part of a `format` call, where types may be mixed."""
    found: list[tuple[Node, bool]] = []
    pending = [(root, False)]
    while pending:
        node, exempt = pending.pop()
        found.append((node, exempt))
        inside = exempt or (isinstance(node, nodes.Call) and node.function == "format")
        pending += [(child, inside) for child in reversed(children(node))]
    return found


def _check_call(node: Node) -> Iterator[Issue]:
    if not isinstance(node, nodes.Call) or not node.arguments:
        return
    test = _CHECKS.get(node.function)
    argument = node.arguments[0]
    if test is None or not isinstance(argument, nodes.Literal):
        return
    try:
        test(argument.value)
    except (CelError, RegexError, TypeError):
        yield Issue(argument.at, f"invalid {node.function} argument")


def _check_mixture(node: Node, checked: Checked) -> Iterator[Issue]:
    """Yield the first element of a list, or all keys and values of a map, of another type."""
    if isinstance(node, nodes.ListLiteral):
        parts = [(one, place in node.optional) for place, one in enumerate(node.elements)]
        yield from islice(_different(parts, checked), 1)
    elif isinstance(node, nodes.MapLiteral):
        yield from _different([(one.key, False) for one in node.entries], checked)
        yield from _different([(one.value, one.optional) for one in node.entries], checked)


def _different(parts: list[tuple[Node, bool]], checked: Checked) -> Iterator[Issue]:
    expected: CelType | None = None
    for part, optional in parts:
        found = checked.types[part.id]
        if optional and found.parameters:
            found = found.parameters[0]
        if expected is None:
            expected = found
        elif not types.same_shape(expected, found):
            yield Issue(part.at, f"expected type '{show(expected)}' but found '{show(found)}'")
