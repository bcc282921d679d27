"""Compiles a tree to closures over a frame; the closures of fields, comparisons and logic."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final, NamedTuple, TypeAlias

from kyvsim.cel import nodes, operators
from kyvsim.cel.calls import LoopParts, compile_call, compile_loop, first_decision, spend, weighed
from kyvsim.cel.checker import TYPE_NAMES, Checked
from kyvsim.cel.costs import (
    CONVERSIONS,
    FREE_SIZE,
    comparison_steps,
    end_steps,
    equality_cost,
    round_steps,
    steps,
)
from kyvsim.cel.environment import Environment, Frame, Run
from kyvsim.cel.errors import CelError, no_such_overload
from kyvsim.cel.macros import OR_VALUE
from kyvsim.cel.nodes import Call, Ident, ListLiteral, Loop, Node, Select, has_loops
from kyvsim.cel.operators import NUMBERS, as_key, contains, equals, equated, select_if_present
from kyvsim.cel.types import unwrap_optional
from kyvsim.cel.values import NONE, MadeList, MadeMap, Optional, show_value
from kyvsim.kubernetes.regexes import RegexError

_MAX_EXACT = 1 << 53
_PLAIN = frozenset({str, bool, *NUMBERS})
_SIZED: frozenset[object] = frozenset({str, list, dict, bytes})
_HELD: Final = object()
"""Replaces an optional value inside a map or a list, in which no fields are selected."""
_UNSET: Final = object()
"""Marks a slot of a frame that is not computed yet."""


class CompiledNode(NamedTuple):
    """A lowered node, and its value if it is constant."""

    run: Run
    constant: bool = False
    value: Any = None
    slot: int = 0
    """The slot of its value in the frame, if it is a variable."""
    fields: tuple[str, ...] = ()
    """The fields selected from the variable at `slot`."""


def _constant(value: object) -> CompiledNode:
    return CompiledNode(lambda _: value, constant=True, value=value)


class Lowered(NamedTuple):
    """A lowered expression."""

    code: CompiledNode
    slots: int
    """The required length of the frame."""
    reads: frozenset[str]
    """The variables of the environment that it reads."""
    steps: int
    """Its steps, without those of loops; 0 if it has none, and no limit is near."""


NodeHook: TypeAlias = Callable[[Node, Run], Run]
"""Returns the wrapped closure of a node."""


def lower(
    root: Node, checked: Checked, env: Environment, on_node: NodeHook | None = None
) -> Lowered:
    """Return an expression's code and requirements; `on_node` wraps all nodes below the root.

    Raises CelError if a constant part, such as `int("x")`, fails.
    """
    lowering = _Lowering(checked, env, on_node, counted=has_loops(root))
    code = lowering.lower_silently(root)
    sure = steps(root, checked) if lowering.counted else 0
    return Lowered(code, lowering.slots, frozenset(lowering.reads), sure)


class _Lowering:
    """One traversal of the tree; `slots` grows with the names of loops."""

    def __init__(
        self, checked: Checked, env: Environment, on_node: NodeHook | None, *, counted: bool
    ) -> None:
        self.checked = checked
        self.env = env
        self.on_node = on_node
        self.names = {name: place for place, (name, _) in enumerate(env.variables, 1)}
        self.slots = 1 + len(env.variables)
        self.reads: set[str] = set()
        self.counted = counted
        """Whether there are loops: without them no limit is near."""
        self.lazy: dict[int, Run] = {}
        """The closures of names that are evaluated on first access."""

    def lower(self, node: Node) -> CompiledNode:
        code = self.lower_silently(node)
        if self.on_node is None or code.constant:
            return code
        # Closures that are built from `slot` and `fields` bypass the hook.
        return code._replace(run=self.on_node(node, code.run))

    def lower_silently(self, node: Node) -> CompiledNode:
        return _LOWERERS[node.__class__](self, node)

    def run(self, node: Node) -> Run:
        return self.lower(node).run

    def variable(self, name: str) -> CompiledNode:
        slot = self.names.get(name) or self.names.get(name.removeprefix("."))
        if slot is None:
            kind = TYPE_NAMES[name.removeprefix(".")].parameters[0]
            return _constant(kind._replace(parameters=()))
        if slot in self.lazy:
            return CompiledNode(self.lazy[slot])
        if slot <= len(self.env.variables):
            known = self.env.variables[slot - 1][0]
            if known in self.env.unbound:

                def run(_: Frame) -> object:
                    raise CelError(f"no such attribute(s): {known}")

                return CompiledNode(run)
            self.reads.add(known)
        return CompiledNode(lambda frame: frame[slot], slot=slot)

    def select(self, node: Select) -> CompiledNode:
        if node.id in self.checked.names:
            return self.variable(self.checked.names[node.id])
        operand, field = self.selectable(node.operand), node.field
        run = operand.run
        if node.test:
            return CompiledNode(lambda frame: operators.has_field(run(frame), field))
        if not node.optional:
            return _selected(operand, field)

        def if_present(frame: Frame) -> Optional:
            found = select_if_present(run(frame), field)
            if not found.present:
                frame[0] += 1  # a missing field costs nothing
            return found

        return CompiledNode(if_present)

    def selectable(self, node: Node) -> CompiledNode:
        """Return the operand of a selection; optional values inside of others have no fields."""
        code = self.lower(node)
        if not self.is_held_optional(node):
            return code
        inner = code.run

        def run(frame: Frame) -> object:
            value = inner(frame)
            return _HELD if value.__class__ is Optional else value

        return CompiledNode(run)

    def is_held_optional(self, node: Node) -> bool:
        """Return whether a field or an element is itself an optional value, not only its path.

        Optional values in a variable, a map or a list have no fields. upstream: cel-go
        interpreter/attributes.go `applyQualifiers`, which unwraps an optional value only at the
        beginning of a chain of fields and elements
        """
        if not self.is_optional(node):
            return False
        if isinstance(node, Select):
            is_name = node.id in self.checked.names
            return is_name or not (node.optional or self.is_optional(node.operand))
        if isinstance(node, Call) and node.function == "_[_]":
            return not self.is_optional(node.arguments[0])
        return False

    def is_optional(self, node: Node) -> bool:
        return unwrap_optional(self.checked.types[node.id])[1]

    def index(self, node: Call) -> CompiledNode:
        operand, key_node = self.selectable(node.arguments[0]), self.lower(node.arguments[1])
        if key_node.constant:
            operators.check_qualifier(key_node.value, constant=True)
        run, key = operand.run, key_node.run
        if node.function == "_[?_]":

            def if_present(frame: Frame) -> Optional:
                value = run(frame)
                # As upstream, the index of a missing value is not evaluated.
                found = NONE if value is NONE else operators.index_if_present(value, key(frame))
                if not found.present:
                    frame[0] += 1
                return found

            return CompiledNode(if_present)
        if key_node.constant and key_node.value.__class__ is str:
            return _selected(operand, key_node.value)

        def element(frame: Frame) -> object:
            value = run(frame)
            if value is NONE:
                return value
            found = key(frame)
            if value.__class__ is dict and found.__class__ is str and found in value:
                return value[found]
            return operators.index(value, found)

        return CompiledNode(element)

    def call(self, node: Call) -> CompiledNode:
        special = _OPERATORS.get(node.function) if node.target is None else None
        if special is not None:
            return special(self, node)
        if node.function in {"or", "orValue"} and len(node.arguments) == 1 and node.target:
            left, right = self.run(node.target), self.branch(node.arguments[0])
            return CompiledNode(_first_present(left, right, unwraps=node.function == "orValue"))
        found = self.checked.overloads[node.id]
        member = found[1][0].member
        parts = (node.target, *node.arguments) if node.target and member else node.arguments
        codes = [self.lower(one) for one in parts]
        optimize = found[1][0].optimize if len(found[1]) == 1 else None
        if optimize is not None and codes[1].constant:
            pattern = codes[1].value
            try:
                operand = weighed(found[0].name, codes[0].run, pattern)
                return CompiledNode(optimize(operand, pattern, *(one.run for one in codes[2:])))
            except RegexError:
                if self.env.folds:
                    raise
        run = compile_call(found, tuple(one.run for one in codes), self.env.classes)
        if self.env.folds and node.function in CONVERSIONS and codes[0].constant:
            return _constant(run([self.env.limit]))
        return CompiledNode(run)

    def junction(self, node: Call) -> CompiledNode:
        """Lower `||` (which True decides) or `&&` (which False decides), of any number of terms.

        A deciding term overrides errors of others; without one the first error is the result.
        """
        first, *others = node.arguments
        terms = (self.run(first), *map(self.branch, others))
        decides = node.function == "_||_"
        if len(terms) == 2:
            return CompiledNode(_junction_of_two(*terms, decides=decides))
        return CompiledNode(lambda frame: first_decision(terms, frame, decides=decides))

    def conditional(self, node: Call) -> CompiledNode:
        test = self.run(node.arguments[0])
        chosen, other = (self.branch(one, end_steps) for one in node.arguments[1:])

        def run(frame: Frame) -> object:
            found = test(frame)
            if found is True:
                return chosen(frame)
            if found is False:
                return other(frame)
            raise no_such_overload()

        return CompiledNode(run)

    def branch(self, node: Node, count: Callable[[Node, Checked], int] = steps) -> Run:
        """Return a part that may not be evaluated; it counts its steps when it is."""
        run, own = self.run(node), count(node, self.checked) if self.counted else 0
        if not own:
            return run

        def paying(frame: Frame) -> object:
            frame[0] -= own
            return run(frame)

        return paying

    def equality(self, node: Call) -> CompiledNode:
        left, right = map(self.lower, node.arguments)
        negated = node.function == "_!=_"
        if comparison_steps(node.arguments[1]) is not None:
            return CompiledNode(_equal_to_constant(left.run, right.value, negated=negated))
        compare = operators.differs if negated else operators.equated
        first, second = left.run, right.run

        def run(frame: Frame) -> bool:
            one, other = first(frame), second(frame)
            spend(frame, equality_cost(one, other))
            return compare(one, other)

        return CompiledNode(run)

    def membership(self, node: Call) -> CompiledNode:
        """Lower `item in among`, which costs a step for each element of a list.

        As upstream, it costs one step if the type is not known to be a list.
        """
        one, whole = map(self.lower, node.arguments)
        if whole.constant and isinstance(whole.value, list):
            if not whole.value:
                return _constant(value=False)
            return CompiledNode(_in_constant(one.run, whole.value))
        item, among = one.run, whole.run
        by_element = len(self.checked.overloads[node.id][1]) == 1

        def run(frame: Frame) -> bool:
            found, values = item(frame), among(frame)
            size = len(values) if isinstance(values, list) else 1
            spend(frame, size if by_element else 1 + (size // 10 if size > FREE_SIZE else 0))
            return contains(found, values)

        return CompiledNode(run)

    def or_value(self, node: Call) -> CompiledNode:
        """Lower `left.orValue(default)` as in Kyverno.

        A value that is not optional is returned as it is, and the default is always evaluated: it
        may fail. `base.?a.?b.orValue(default)` creates no intermediate optional values.
        """
        target, last = node.arguments[0], self.lower(node.arguments[1])
        default = last.run
        fields: tuple[str, ...] = ()
        while isinstance(target, Select) and target.optional:
            fields = (target.field, *fields)
            target = target.operand
        if fields:
            base = self.selectable(target).run
            if last.constant:
                return CompiledNode(_field_or_constant(base, fields, last.value))
            return CompiledNode(lambda frame: _field_of(base(frame), fields, default(frame), frame))
        left = self.run(target)

        def run(frame: Frame) -> object:
            found, otherwise = left(frame), default(frame)
            if found.__class__ is Optional:
                return found.value if found.present else otherwise
            return found

        return CompiledNode(run)

    def list_literal(self, node: ListLiteral) -> CompiledNode:
        codes = [self.lower(one) for one in node.elements]
        elements = [code.run for code in codes]
        if node.optional:
            return CompiledNode(_list_with_optionals(elements, node.optional))
        if all(code.constant for code in codes):
            return _constant(MadeList([code.value for code in codes]))
        return CompiledNode(lambda frame: MadeList([one(frame) for one in elements]))

    def map_literal(self, node: nodes.MapLiteral) -> CompiledNode:
        codes = [
            (self.lower(entry.key), self.lower(entry.value), entry.optional)
            for entry in node.entries
        ]
        entries = [(key.run, value.run, optional) for key, value, optional in codes]

        def run(frame: Frame) -> MadeMap:
            made = MadeMap()
            for key, value, optional in entries:
                name, found = as_key(key(frame)), value(frame)
                if optional:
                    _set_if_present(made, name, found)
                else:
                    made[name] = found
            return made

        if all(key.constant and value.constant and not opt for key, value, opt in codes):
            with suppress(CelError):  # an invalid key fails at evaluation
                return _constant(run([0]))
        return CompiledNode(run)

    def struct(self, node: nodes.StructLiteral) -> CompiledNode:
        kind = self.env.struct_type(node.type_name)
        if kind is None:
            raise CelError(f"unknown type '{node.type_name}'")
        make = kind.make
        fields = [(field.name, self.run(field.value), field.optional) for field in node.fields]

        def run(frame: Frame) -> object:
            made: dict[str, object] = {}
            for name, value, optional in fields:
                if optional:
                    _set_if_present(made, name, value(frame))
                else:
                    made[name] = value(frame)
            return make(made)

        return CompiledNode(run)

    def bind(self, node: nodes.Bind) -> CompiledNode:
        value = self.branch(node.value)
        (slot,), outer = self.enter((node.variable,))

        def read(frame: Frame) -> object:
            found = frame[slot]
            if found is _UNSET:
                found = frame[slot] = value(frame)
            return found

        self.lazy[slot] = read
        body = self.run(node.body)
        self.names = outer

        def run(frame: Frame) -> object:
            frame[slot] = _UNSET
            return body(frame)

        return CompiledNode(run)

    def enter(self, variables: tuple[str, ...]) -> tuple[tuple[int, ...], dict[str, int]]:
        """Assign a slot to each name; return the slots and the previous names."""
        outer = self.names
        slots = tuple(range(self.slots, self.slots + len(variables)))
        self.slots += len(variables)
        self.names = {**outer, **dict(zip(variables, slots, strict=True))}
        return slots, outer

    def loop(self, node: Loop) -> CompiledNode:
        source = self.run(node.source)
        slots, outer = self.enter(node.variables)
        always = _constant(value=True).run
        test = self.run(node.test) if node.test is not None else always
        result = self.run(node.result) if node.result is not None else always
        self.names = outer
        second = slots[1] if len(slots) > 1 else 0
        parts = LoopParts(source, slots[0], second, test, result, round_steps(node, self.checked))
        return CompiledNode(compile_loop(node.kind, parts, tested=node.test is not None))


_OPERATORS: Mapping[str, Callable[[_Lowering, Call], CompiledNode]] = {
    "_&&_": _Lowering.junction,
    "_||_": _Lowering.junction,
    "_?_:_": _Lowering.conditional,
    "_==_": _Lowering.equality,
    "_!=_": _Lowering.equality,
    "@in": _Lowering.membership,
    "_[_]": _Lowering.index,
    "_[?_]": _Lowering.index,
    OR_VALUE: _Lowering.or_value,
}
_LOWERERS: Mapping[type, Callable[[_Lowering, Any], CompiledNode]] = {
    nodes.Literal: lambda _, node: _constant(node.value),
    Ident: lambda lowering, node: lowering.variable(node.name),
    Select: _Lowering.select,
    Call: _Lowering.call,
    ListLiteral: _Lowering.list_literal,
    nodes.MapLiteral: _Lowering.map_literal,
    nodes.StructLiteral: _Lowering.struct,
    nodes.Bind: _Lowering.bind,
    Loop: _Lowering.loop,
}

# The closures of larger nodes.
#
# Source of the rules: upstream cel-go interpreter/interpretable.go (evalAnd, evalOr),
# cel/library.go.


def _selected(operand: CompiledNode, field: str) -> CompiledNode:
    if operand.slot:
        fields = (*operand.fields, field)
        return CompiledNode(_path(operand.slot, fields), slot=operand.slot, fields=fields)
    inner = operand.run

    def run(frame: Frame) -> object:
        value = inner(frame)
        if value.__class__ is dict and field in value:
            return value[field]
        found = operators.select(value, field)
        if found is NONE:
            frame[0] += 1  # a missing field costs nothing
        return found

    return CompiledNode(run)


def _path(slot: int, fields: tuple[str, ...]) -> Run:
    def slowly(frame: Frame) -> object:
        value = frame[slot]
        for field in fields:
            value = operators.select(value, field)
        return value

    if len(fields) == 1:
        return _field(slot, fields[0], slowly)
    if len(fields) == 2:
        first, second = fields

        def run(frame: Frame) -> object:
            try:
                return frame[slot][first][second]
            except (KeyError, TypeError):
                return slowly(frame)

        return run

    def many(frame: Frame) -> object:
        value = frame[slot]
        try:
            for field in fields:
                value = value[field]
        except (KeyError, TypeError):
            return slowly(frame)
        return value

    return many


def _field(slot: int, field: str, slowly: Run) -> Run:
    def run(frame: Frame) -> object:
        try:
            return frame[slot][field]
        except (KeyError, TypeError):
            return slowly(frame)

    return run


def _equal_to_constant(left: Run, value: object, *, negated: bool) -> Run:
    if value.__class__ is str:

        def run(frame: Frame) -> bool:
            found = left(frame)
            if found == value:
                return not negated
            if found.__class__ in _SIZED and not found:
                frame[0] += 1  # as upstream, comparing with an empty string or list costs nothing
            return negated or equated(found, value)

        return run
    if value.__class__ is int and abs(value) < _MAX_EXACT:

        def compare(frame: Frame) -> bool:
            found = left(frame)
            if found.__class__ in NUMBERS:
                return (found == value) is not negated
            return negated or equated(found, value)

        return compare
    if value.__class__ is bool or value is None:
        if negated:
            return lambda frame: left(frame) is not value
        return lambda frame: left(frame) is value
    return lambda frame: equals(left(frame), value) is not negated


def _in_constant(item: Run, among: list[object]) -> Run:
    """Return `item in among` for a constant list; plain values in it cost nothing."""
    if any(one.__class__ is not str for one in among):
        plain = all(one.__class__ in _PLAIN for one in among)
        size = 0 if plain else len(among)

        def membership(frame: Frame) -> bool:
            frame[0] -= size
            return contains(item(frame), among)

        return membership
    texts = frozenset(among)

    def run(frame: Frame) -> bool:
        found = item(frame)
        return found.__class__ is str and found in texts

    return run


def _list_with_optionals(elements: list[Run], optional: frozenset[int]) -> Run:
    def run(frame: Frame) -> MadeList:
        made = MadeList()
        for place, one in enumerate(elements):
            value = one(frame)
            if place not in optional:
                made.append(value)
            elif value.__class__ is Optional:
                if value.present:
                    made.append(value.value)
            else:
                shown = show_value(value)
                raise CelError(
                    f"cannot initialize optional list element from non-optional value {shown}"
                )
        return made

    return run


def _set_if_present(made: dict[Any, object], name: object, found: object) -> None:
    """Set an entry to an optional value; one without a value removes the entry."""
    if not isinstance(found, Optional):
        shown = show_value(name)
        raise CelError(
            f"cannot initialize optional entry '{shown}' from non-optional value "
            f"{show_value(found)}"
        )
    if found.present:
        made[name] = found.value
    else:
        made.pop(name, None)


def _junction_of_two(left: Run, right: Run, *, decides: bool) -> Run:
    other = not decides

    def run(frame: Frame) -> object:
        try:
            found = left(frame)
        except CelError as error:
            return absorb(frame, error)
        if found is decides:
            return decides
        if found is not other:
            return absorb(frame, no_such_overload())
        found = right(frame)
        if found.__class__ is bool:
            return found
        raise no_such_overload()

    def absorb(frame: Frame, fault: CelError) -> object:
        try:
            found = right(frame)
        except CelError:
            raise fault from None
        if found is decides:
            return decides
        raise fault

    return run


def _first_present(left: Run, right: Run, *, unwraps: bool) -> Run:
    """Return `left.or(right)`, or `left.orValue(right)` as in cel-go, which unwraps `left`."""

    def run(frame: Frame) -> object:
        found = left(frame)
        if found.__class__ is not Optional:
            raise no_such_overload()
        if not found.present:
            return right(frame)
        return found.value if unwraps else found

    return run


def _field_or_constant(base: Run, fields: tuple[str, ...], default: object) -> Run:
    first, *others = fields
    if others:
        return lambda frame: _field_of(base(frame), fields, default, frame)

    def run(frame: Frame) -> object:
        value = base(frame)
        if value.__class__ is dict and first in value:
            return value[first]
        return _field_of(value, fields, default, frame)

    return run


def _field_of(value: object, fields: tuple[str, ...], otherwise: object, frame: Frame) -> object:
    if value.__class__ is Optional:
        value = value.value
    for place, field in enumerate(fields):
        if value.__class__ is dict:
            present = field in value
            found = value.get(field)
        else:
            present, found = select_if_present(value, field)
        if not present:
            frame[0] += len(fields) - place  # missing fields cost nothing
            return otherwise
        value = found
    return value
