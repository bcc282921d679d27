"""How many steps the parts of an expression take, as far as that is known before they run.

Terms of `&&` and `||`, the ends of `?:`, rounds of loops and calls whose cost grows with what they
are given are not sure to be evaluated, or not known: they pay when they are.

upstream: cel-go interpreter/runtimecost.go `Observe`, interpreter/planner.go (what is a constant,
and what one attribute with its fields), parser/macro.go (what loops stand for)
"""

from types import MappingProxyType
from typing import NamedTuple

from kyvsim.cel.check import TYPE_NAMES, Checked
from kyvsim.cel.costs import BY_OVERLOAD, weights
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
    children,
)

CONVERSIONS = frozenset(
    {"bool", "bytes", "double", "dyn", "duration", "int", "string", "timestamp", "type", "uint"}
)
"""What is done of a constant before anything is evaluated."""
_INDEXES = frozenset({"_[_]", "_[?_]"})
_NEW = MappingProxyType({ListLiteral: 10, MapLiteral: 30, StructLiteral: 40})
PLAIN = frozenset({str, bool, int, type(None)})
"""The types of literals with which a comparison has a cost that is known beforehand."""
_LONGEST_PLAIN = 10
"""The characters that one step compares."""


class RoundSteps(NamedTuple):
    """What a loop takes."""

    each: int
    """Of each round."""
    taken: int = 0
    """Of one that the test takes besides."""
    stopped: int = 0
    """Where a round decides, and others are left."""


def comparison_steps(node: Node) -> int | None:
    """Return what comparing with this costs; None where it goes by what is compared."""
    if not isinstance(node, Literal) or node.value.__class__ not in PLAIN:
        return None
    if node.value.__class__ is str and len(node.value) > _LONGEST_PLAIN:
        return None
    return int(node.value != "")


def calls_by_weight(node: Call, checked: Checked) -> bool:
    """Return whether a call pays when it is run.

    As upstream, what goes by the overload costs one step where the types leave several.
    """
    function, fitting = checked.overloads[node.id]
    resolved = len(fitting) == 1
    if function.name in BY_OVERLOAD and not resolved:
        return False
    if resolved and fitting[0].cost > 1:
        return True
    return weights(function.name, resolved=resolved) != (None, None)


def steps(node: Node, checked: Checked) -> int:
    """Return the steps that evaluating a node surely takes."""
    if is_constant(node, checked):
        return 0
    if isinstance(node, Ident) or node.id in checked.names:
        return 1
    if isinstance(node, Select):
        return _of_attribute(node.operand, checked) + (not node.test)
    if isinstance(node, Call):
        return _of_call(node, checked)
    if isinstance(node, Loop):
        return steps(node.source, checked) + 1 + (node.kind == "exists_one")
    if isinstance(node, Bind):
        return steps(node.body, checked)
    return _NEW[node.__class__] + sum(steps(one, checked) for one in children(node))


def _of_call(node: Call, checked: Checked) -> int:
    first = node.arguments[0] if node.arguments else None
    if node.target is None and first is not None:
        if node.function in {"_&&_", "_||_", "_?_:_"}:
            return steps(first, checked)
        if node.function in _INDEXES:
            return _of_attribute(first, checked) + _of_attribute(node.arguments[1], checked)
        if node.function in {"_==_", "_!=_"}:
            own = comparison_steps(node.arguments[1]) or 0
            return own + sum(steps(one, checked) for one in node.arguments)
        if node.function == "@in":
            return _membership(node, checked)
    elif node.function in {"or", "orValue"} and node.target is not None:
        return steps(node.target, checked)
    is_member = checked.overloads[node.id][1][0].member
    parts = (node.target, *node.arguments) if node.target and is_member else node.arguments
    return (not calls_by_weight(node, checked)) + sum(steps(one, checked) for one in parts)


def _membership(node: Call, checked: Checked) -> int:
    item, among = node.arguments
    if isinstance(among, ListLiteral) and is_constant(among, checked):
        return steps(item, checked)
    return steps(item, checked) + steps(among, checked)


def _of_attribute(node: Node, checked: Checked) -> int:
    """Return the steps of what a field or an element is asked of, or of what tells which."""
    return steps(node, checked) + (not _is_attribute(node, checked))


def end_steps(node: Node, checked: Checked) -> int:
    """Return the steps of an end of `?:`, where the variable that a path begins with is free."""
    begin = node
    while _is_attribute(begin, checked) and not isinstance(begin, Ident):
        if isinstance(begin, Select):
            begin = begin.operand
        elif isinstance(begin, Call) and begin.function in _INDEXES:
            begin = begin.arguments[0]
        else:  # another `?:`
            return steps(node, checked)
    return steps(node, checked) - _is_attribute(node, checked)


def round_steps(node: Loop, checked: Checked) -> RoundSteps:
    """Return what the rounds of a loop take: the macros stand for a condition and a step."""
    test = 0 if node.test is None else steps(node.test, checked)
    result = 0 if node.result is None else steps(node.result, checked)
    if node.kind == "all":
        return RoundSteps(3 + test, stopped=2)
    if node.kind == "exists":
        return RoundSteps(4 + test, stopped=3)
    if node.kind == "exists_one":
        return RoundSteps(test, taken=2)
    if node.kind == "filter":
        return RoundSteps(test, taken=13)
    made = result + _made(node, checked)
    return RoundSteps(made) if node.test is None else RoundSteps(test, taken=made)


def _made(node: Loop, checked: Checked) -> int:
    """Return what it takes to add a result to those of the rounds before."""
    if node.kind in {"transformMap", "transformMapEntry"}:
        return 3 if node.kind == "transformMap" else 2
    return 2 if node.result is None or is_constant(node.result, checked) else 12


def is_constant(node: Node, checked: Checked) -> bool:
    """Return whether the value of a node is known before anything is evaluated."""
    if isinstance(node, Literal):
        return True
    if isinstance(node, (Ident, Select)):
        name = checked.names.get(node.id, "").removeprefix(".")
        return name in TYPE_NAMES and checked.types[node.id].kind == "type"
    if isinstance(node, Call):
        if node.function == "@in":
            return isinstance(node.arguments[1], ListLiteral) and not node.arguments[1].elements
        converts = node.function in CONVERSIONS and node.target is None
        return converts and all(is_constant(one, checked) for one in node.arguments)
    if isinstance(node, (ListLiteral, MapLiteral)):
        return all(is_constant(one, checked) for one in children(node))
    return False


def _is_attribute(node: Node, checked: Checked) -> bool:
    """Return whether a node is a variable or what fields, elements and `?:` lead to from one."""
    if is_constant(node, checked):
        return False
    if isinstance(node, Select):
        return not node.test
    if isinstance(node, Ident):
        return True
    return isinstance(node, Call) and node.target is None and node.function in {*_INDEXES, "_?_:_"}
