"""Tree to closures over a frame: the steps left, the variables, then the names of loops."""

from collections.abc import Callable
from contextlib import suppress
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

from kyvsim.cel import calls, closures, operators
from kyvsim.cel.calls import LoopParts, Run, charged, compile_call, spend, weighed
from kyvsim.cel.checker import TYPE_NAMES, Checked
from kyvsim.cel.costs import (
    CONVERSIONS,
    comparison_steps,
    end_steps,
    equality_cost,
    round_steps,
    steps,
)
from kyvsim.cel.environment import Environment
from kyvsim.cel.errors import CelError
from kyvsim.cel.macros import OR_VALUE
from kyvsim.cel.nodes import (
    Bind,
    Call,
    Ident,
    ListLiteral,
    Literal,
    Loop,
    MapLiteral,
    Node,
    Select,
    StructLiteral,
    has_loops,
)
from kyvsim.cel.types import unwrap_optional
from kyvsim.cel.values import MadeList
from kyvsim.kubernetes.regexes import RegexError

# Optional values that a variable, a map or a list holds: fields are looked for in none of them.
#
# Source of the rules: upstream cel-go interpreter/attributes.go `applyQualifiers`, which looks
# into an optional only where a chain of fields and elements begins with it


def is_held_optional(node: Node, checked: Checked) -> bool:
    """Return whether a field or an element is an optional by itself, not by the path to it."""
    if not _is_optional(node, checked):
        return False
    if isinstance(node, Select):
        is_name = node.id in checked.names
        return is_name or not (node.optional or _is_optional(node.operand, checked))
    if isinstance(node, Call) and node.function == "_[_]":
        return not _is_optional(node.arguments[0], checked)
    return False


def _is_optional(node: Node, checked: Checked) -> bool:
    return unwrap_optional(checked.types[node.id])[1]


class CompiledNode(NamedTuple):
    """A lowered node, and its value where that is known already."""

    run: Run
    constant: bool = False
    value: Any = None
    slot: int = 0
    """The slot of its value in the frame, if it is a variable."""
    fields: tuple[str, ...] = ()
    """The fields selected from the variable at `slot`."""


def constant(value: Any) -> CompiledNode:
    """Return the code of a value that is known already."""
    return CompiledNode(closures.constant_run(value), constant=True, value=value)


class Lowered(NamedTuple):
    """An expression that is lowered."""

    code: CompiledNode
    slots: int
    """The length of the frame that it needs."""
    reads: frozenset[str]
    """The variables of the environment that it looks at."""
    steps: int
    """What it takes besides its loops; 0 where it has none, and no limit is near."""


NodeHook: TypeAlias = Callable[[Node, Run], Run]
"""Returns the closure of a node, wrapped."""


def lower(
    root: Node, checked: Checked, env: Environment, on_node: NodeHook | None = None
) -> Lowered:
    """Return an expression's code, and what it needs to run; `on_node` wraps all below the root.

    Raises CelError where a part that is evaluated now, such as `int("x")`, fails.
    """
    lowering = _Lowering(checked, env, on_node, counted=has_loops(root))
    code = lowering.lower_silently(root)
    sure = steps(root, checked) if lowering.counted else 0
    return Lowered(code, lowering.slots, frozenset(lowering.reads), sure)


class _Lowering:
    """One walk over the tree; `slots` grows with the names of loops."""

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
        """What reads a name that is evaluated when it is first read."""

    def lower(self, node: Node) -> CompiledNode:
        code = self.lower_silently(node)
        if self.on_node is None or code.constant:
            return code
        # What is made of slots and fields does not pass it, and stays as it is.
        return code._replace(run=self.on_node(node, code.run))

    def lower_silently(self, node: Node) -> CompiledNode:
        return _LOWERERS[node.__class__](self, node)

    def run(self, node: Node) -> Run:
        return self.lower(node).run

    def variable(self, name: str) -> CompiledNode:
        slot = self.names.get(name) or self.names.get(name.removeprefix("."))
        if slot is None:
            kind = TYPE_NAMES[name.removeprefix(".")].parameters[0]
            return constant(kind._replace(parameters=()))
        if slot in self.lazy:
            return CompiledNode(self.lazy[slot])
        if slot <= len(self.env.variables):
            known = self.env.variables[slot - 1][0]
            if known in self.env.unbound:

                def run(_: list[Any]) -> Any:
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
        if node.optional:
            return CompiledNode(closures.selected_if_present(run, field))
        if operand.slot:
            fields = (*operand.fields, field)
            return CompiledNode(
                closures.path(operand.slot, fields), slot=operand.slot, fields=fields
            )
        return CompiledNode(closures.selected(run, field))

    def call(self, node: Call) -> CompiledNode:
        special = _OPERATORS.get(node.function) if node.target is None else None
        if special is not None:
            return special(self, node)
        if node.function in {"or", "orValue"} and len(node.arguments) == 1 and node.target:
            left, right = self.run(node.target), self.branch(node.arguments[0])
            unwraps = node.function == "orValue"
            return CompiledNode(closures.first_present(left, right, unwraps=unwraps))
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
            return constant(run([self.env.limit]))
        return CompiledNode(run)

    def junction(self, node: Call) -> CompiledNode:
        first, *others = node.arguments
        terms = (self.run(first), *map(self.branch, others))
        return CompiledNode(closures.junction(terms, decides=node.function == "_||_"))

    def conditional(self, node: Call) -> CompiledNode:
        test, chosen, other = node.arguments
        ends = [self.branch(one, end_steps) for one in (chosen, other)]
        return CompiledNode(closures.conditional(self.run(test), *ends))

    def branch(self, node: Node, count: Callable[[Node, Checked], int] = steps) -> Run:
        """Return a part that may not be evaluated: it pays for itself when it is."""
        run, own = self.run(node), count(node, self.checked) if self.counted else 0
        return charged(run, own) if own else run

    def equality(self, node: Call) -> CompiledNode:
        left, right = map(self.lower, node.arguments)
        negated = node.function == "_!=_"
        if comparison_steps(node.arguments[1]) is not None:
            return CompiledNode(closures.equal_to_constant(left.run, right.value, negated=negated))
        compare = operators.differs if negated else operators.equated
        first, second = left.run, right.run

        def run(frame: list[Any]) -> bool:
            one, other = first(frame), second(frame)
            spend(frame, equality_cost(one, other))
            return compare(one, other)

        return CompiledNode(run)

    def membership(self, node: Call) -> CompiledNode:
        item, among = map(self.lower, node.arguments)
        if among.constant and isinstance(among.value, list):
            if not among.value:
                return constant(value=False)
            return CompiledNode(closures.in_constant(item.run, among.value))
        resolved = len(self.checked.overloads[node.id][1]) == 1
        return CompiledNode(closures.contained(item.run, among.run, by_element=resolved))

    def selectable(self, node: Node) -> CompiledNode:
        """Return the operand of a selection; an optional value inside another has no fields."""
        code = self.lower(node)
        if not is_held_optional(node, self.checked):
            return code
        run = code.run
        return CompiledNode(lambda frame: operators.without_fields(run(frame)))

    def index(self, node: Call) -> CompiledNode:
        operand, key = self.selectable(node.arguments[0]), self.lower(node.arguments[1])
        if key.constant:
            operators.check_qualifier(key.value, constant=True)
        if node.function == "_[?_]":
            return CompiledNode(closures.indexed_if_present(operand.run, key.run))
        if key.constant and key.value.__class__ is str:
            if operand.slot:
                fields = (*operand.fields, key.value)
                return CompiledNode(
                    closures.path(operand.slot, fields), slot=operand.slot, fields=fields
                )
            return CompiledNode(closures.selected(operand.run, key.value))
        return CompiledNode(closures.indexed(operand.run, key.run))

    def or_value(self, node: Call) -> CompiledNode:
        target, default = node.arguments[0], self.lower(node.arguments[1])
        fields: list[str] = []
        while isinstance(target, Select) and target.optional:
            fields.insert(0, target.field)
            target = target.operand
        if not fields:
            return CompiledNode(closures.lenient_value_or_default(self.run(target), default.run))
        base = self.selectable(target).run
        if default.constant:
            run = closures.field_or_constant(base, tuple(fields), default.value)
        else:
            run = closures.field_or_default(base, tuple(fields), default.run)
        return CompiledNode(run)

    def list_literal(self, node: ListLiteral) -> CompiledNode:
        codes = [self.lower(one) for one in node.elements]
        if not node.optional and all(code.constant for code in codes):
            return constant(MadeList([code.value for code in codes]))
        return CompiledNode(closures.list_maker([code.run for code in codes], node.optional))

    def map_literal(self, node: MapLiteral) -> CompiledNode:
        entries = [
            (self.lower(entry.key), self.lower(entry.value), entry.optional)
            for entry in node.entries
        ]
        run = closures.map_maker(
            [(key.run, value.run, optional) for key, value, optional in entries]
        )
        if all(key.constant and value.constant and not opt for key, value, opt in entries):
            with suppress(CelError):  # an invalid key is an error of the evaluation
                return constant(run([0]))
        return CompiledNode(run)

    def struct(self, node: StructLiteral) -> CompiledNode:
        kind = self.env.struct_type(node.type_name)
        if kind is None:
            raise CelError(f"unknown type '{node.type_name}'")
        fields = [(field.name, self.run(field.value), field.optional) for field in node.fields]
        return CompiledNode(closures.struct_maker(kind.make, fields))

    def bind(self, node: Bind) -> CompiledNode:
        value = self.branch(node.value)
        (slot,), outer = self.enter((node.variable,))
        self.lazy[slot] = closures.lazily(slot, value)
        body = self.run(node.body)
        self.names = outer

        def run(frame: list[Any]) -> Any:
            frame[slot] = closures.UNSET
            return body(frame)

        return CompiledNode(run)

    def enter(self, variables: tuple[str, ...]) -> tuple[tuple[int, ...], dict[str, int]]:
        """Give each name a slot of its own; return the slots and the names as they were."""
        outer = self.names
        slots = tuple(range(self.slots, self.slots + len(variables)))
        self.slots += len(variables)
        self.names = {**outer, **dict(zip(variables, slots, strict=True))}
        return slots, outer

    def loop(self, node: Loop) -> CompiledNode:
        source = self.run(node.source)
        slots, outer = self.enter(node.variables)
        always = closures.constant_run(value=True)
        test = self.run(node.test) if node.test is not None else always
        result = self.run(node.result) if node.result is not None else always
        self.names = outer
        second = slots[1] if len(slots) > 1 else 0
        parts = LoopParts(source, slots[0], second, test, result, round_steps(node, self.checked))
        return CompiledNode(_LOOPS[node.kind](parts, node.test is not None))


_OPERATORS: MappingProxyType[str, Callable[[_Lowering, Call], CompiledNode]] = MappingProxyType(
    {
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
)
_LOWERERS: MappingProxyType[type, Callable[[_Lowering, Any], CompiledNode]] = MappingProxyType(
    {
        Literal: lambda _, node: constant(node.value),
        Ident: lambda lowering, node: lowering.variable(node.name),
        Select: _Lowering.select,
        Call: _Lowering.call,
        ListLiteral: _Lowering.list_literal,
        MapLiteral: _Lowering.map_literal,
        StructLiteral: _Lowering.struct,
        Bind: _Lowering.bind,
        Loop: _Lowering.loop,
    }
)
_LOOPS: MappingProxyType[str, Callable[[LoopParts, bool], Run]] = MappingProxyType(
    {
        "all": lambda parts, _: calls.quantifier(parts, decides=False),
        "exists": lambda parts, _: calls.quantifier(parts, decides=True),
        "exists_one": lambda parts, _: calls.exactly_one(parts),
        "filter": lambda parts, _: calls.taken(parts),
        "map": lambda parts, tested: calls.mapped(parts, tested=tested),
        "transformList": lambda parts, tested: calls.mapped(parts, tested=tested),
        "transformMap": lambda parts, tested: calls.transformed(parts, tested=tested),
        "transformMapEntry": lambda parts, tested: calls.transformed_entries(parts, tested=tested),
    }
)
