"""Costs: what calls cost while they run, and how many steps a node takes as far as is known."""

from collections.abc import Callable, Mapping, Sequence
from math import ceil
from types import MappingProxyType
from typing import NamedTuple

from kyvsim.cel import nodes
from kyvsim.cel.checker import TYPE_NAMES, Checked
from kyvsim.cel.errors import CelBudgetError
from kyvsim.cel.nodes import Call, Ident, ListLiteral, Loop, Node, Select, children

# What calls cost, where it is not one step: it grows with what they are given and make.
#
# Source of the figures: upstream cel-go interpreter/runtimecost.go and ext/lists.go, sets.go,
# math.go (version 3 of the lists), k8s.io/apiserver pkg/cel/library/cost.go. Where upstream
# counts one step although much is made, nothing longer than `MAX_SIZE` is made: upstream would
# ask for the memory.

MAX_SIZE = 10_000_000
"""The characters of a text, or elements of a list, that an expression may make at once."""

_Before = Callable[[Sequence[object]], int]
_After = Callable[[Sequence[object], object], int]


def size_of(value: object) -> int:
    """Return the size of a value as costs count it; 1 for what has none."""
    if value.__class__ is list or value.__class__ is dict or value.__class__ is str:
        return len(value)  # most calls are given these
    return len(value) if isinstance(value, (str, bytes, list, dict)) else 1


def bulk_of(value: object) -> int:
    """Return about the length of the text that shows a value; raises BudgetError beyond any use."""
    waiting, found = [value], 0
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            waiting.extend(one)
            waiting.extend(one.values())
        elif isinstance(one, list):
            waiting.extend(one)
        found += len(one) if isinstance(one, (str, bytes)) else 4
        if found > MAX_SIZE:
            raise CelBudgetError
    return found


def check_size(size: int) -> None:
    """Raise BudgetError for what is too long to be made."""
    if size > MAX_SIZE:
        raise CelBudgetError


def _tenth(size: int) -> int:
    return ceil(size * 0.1)


def _traversed(given: Sequence[object]) -> int:
    return _tenth(size_of(given[0]))


def _elements(given: Sequence[object]) -> int:
    """Return the cost of a walk over a list, or over the texts in it."""
    waiting, found = [given[0]], 0
    while waiting:
        one = waiting.pop()
        if isinstance(one, list):
            waiting.extend(one)
        elif isinstance(one, dict):
            waiting.extend((*one, *one.values()))
        else:
            found += len(one) // 10 if isinstance(one, (str, bytes)) else 1
    return found


def _matched(given: Sequence[object]) -> int:
    text, pattern = size_of(given[0]), size_of(given[1])
    return _tenth(1 + text) * ceil(pattern * 0.25)


def _joined(given: Sequence[object]) -> int:
    parts = given[0] if isinstance(given[0], list) else ()
    between = size_of(given[1]) if len(given) > 1 else 0
    length = sum(map(size_of, parts)) + between * max(len(parts) - 1, 0)
    check_size(length)
    return ceil(length * 2 * 0.1)


def _replaced(given: Sequence[object]) -> int:
    text, old, new = given[:3]
    if text.__class__ is old.__class__ is new.__class__ is str:
        check_size(len(text) + text.count(old) * max(len(new) - len(old), 0))
    return ceil(size_of(text) * 2 * 0.1)


def _added(given: Sequence[object]) -> int:
    if isinstance(given[0], (str, bytes)):
        size = sum(map(size_of, given))
        check_size(size)
        return _tenth(size)
    return 1 + _made_at_once(given)


def _made_at_once(given: Sequence[object]) -> int:
    """Return what a call costs for which upstream counts one step however much it makes."""
    size = sum(map(size_of, given))
    check_size(size)
    return size // 10 if size > FREE_SIZE else 0


def _ordered(given: Sequence[object]) -> int:
    """Return the cost of `<` and the like."""
    first, second = given
    if isinstance(first, (str, bytes)) and isinstance(second, (str, bytes)):
        return _tenth(min(len(first), len(second)))
    return 1


def equality_cost(left: object, right: object) -> int:
    """Return the cost of `==` and `!=`."""
    return _tenth(min(size_of(left), size_of(right)))


def _self_compared(place: int) -> _Before:
    """Return the cost of a list whose elements are compared with one another."""

    def cost(given: Sequence[object]) -> int:
        found = given[place]
        size = size_of(found)
        texts = isinstance(found, list) and found and isinstance(found[0], (str, bytes))
        return int(size * size * (2.1 if texts else 2.0)) + _NEW_LIST

    return cost


def _flattened(given: Sequence[object]) -> int:
    depth = given[1] if len(given) > 1 and given[1].__class__ is int else 1
    return size_of(given[0]) * (depth if depth >= 0 else 1) + _NEW_LIST


def _counted(given: Sequence[object]) -> int:
    """Return the cost of a range that is not refused for its length."""
    count = given[0]
    return count + _NEW_LIST if count.__class__ is int and 0 <= count <= MAX_RANGE else 1


def _shown(given: Sequence[object]) -> int:
    for one in given:
        bulk_of(one)
    return _traversed(given)


def _searched(given: Sequence[object]) -> float:
    return (size_of(given[0]) + 1) * 0.1 * (size_of(given[1]) + 1) * 0.25


def _network_searched(given: Sequence[object]) -> int:
    """Return the cost of asking a network whether an address, or the text of one, is in it."""
    network, other = given
    size = ceil(getattr(network, "bits", 0) / 8)
    return _tenth(2 * size) + (_tenth(len(other)) if isinstance(other, str) else 0)


_NEW_LIST = 11
"""A call and a new list."""
FREE_SIZE = 500
"""The characters, or elements, that one step makes where upstream counts one for any number."""
MAX_RANGE = 1_000_000
"""The length of the longest range that upstream makes."""
BEFORE: Mapping[str, _Before] = {
    "_+_": _added,
    **dict.fromkeys(("_<_", "_<=_", "_>_", "_>=_"), _ordered),
    **dict.fromkeys(("startsWith", "endsWith"), lambda given: _tenth(size_of(given[1]))),
    "replace": _replaced,
    "join": _joined,
    **dict.fromkeys(
        (
            *("lowerAscii", "upperAscii", "substring", "trim", "strings.quote", "url"),
            *("jsonpatch.escapeKey", "cidr", "isIP", "isCIDR"),
            *("quantity", "isQuantity", "semver", "isSemver"),
        ),
        _traversed,
    ),
    **dict.fromkeys(("split", "ip.isCanonical"), lambda given: ceil(size_of(given[0]) * 2 * 0.1)),
    **dict.fromkeys(("base64.encode", "base64.decode"), lambda given: 1 + _traversed(given)),
    "containsIP": _network_searched,
    "containsCIDR": lambda given: (
        _network_searched(given) + _tenth(ceil(getattr(given[0], "bits", 0) / 8)) + 1
    ),
    "validate": lambda given: (
        _tenth(1 + size_of(given[1])) * ceil(getattr(given[0], "pattern_size", 0) * 0.25)
    ),
    **dict.fromkeys(
        ("bytes", "ip"),
        lambda given: _traversed(given) if isinstance(given[0], (str, bytes)) else 1,
    ),
    "string": lambda given: _traversed(given) if given[0].__class__ is bytes else 1,
    "contains": lambda given: _traversed(given) * _tenth(size_of(given[1])),
    **dict.fromkeys(("matches", "find", "findAll"), _matched),
    **dict.fromkeys(
        ("sets.contains", "sets.intersects"),
        lambda given: 1 + size_of(given[0]) * size_of(given[1]),
    ),
    "sets.equivalent": lambda given: 1 + 2 * size_of(given[0]) * size_of(given[1]),
    **dict.fromkeys(("sum", "max", "min", "isSorted", "indexOf", "lastIndexOf"), _elements),
    "sort": _self_compared(0),
    "distinct": _self_compared(0),
    "@sortByAssociatedKeys": _self_compared(1),
    "flatten": _flattened,
    "lists.range": _counted,
    **dict.fromkeys(
        ("math.@min", "math.@max"),
        lambda given: 1 + len(given[0]) if isinstance(given[0], list) else 1,
    ),
    "format": _shown,
    "regex.extract": lambda given: ceil(2 + _searched(given)),
    "marshal": lambda given: 1 + sum(map(bulk_of, given)) // 1000,
}
"""What is known of a call before it runs, by the function's name."""
AFTER: Mapping[str, _After] = {
    **dict.fromkeys(("slice", "reverse"), lambda _, result: size_of(result) + _NEW_LIST),
    "regex.extractAll": lambda given, result: ceil(_NEW_LIST + _searched(given) + size_of(result)),
    "regex.replace": lambda given, result: int(1 + _searched(given) + size_of(result)),
}
"""What shows in the result."""
BY_OVERLOAD = frozenset(
    {
        *("_+_", "_<_", "_<=_", "_>_", "_>=_", "bytes", "string", "contains", "reverse"),
        *("sort", "@sortByAssociatedKeys", "math.@min", "math.@max"),
    }
)
"""Functions that upstream weighs by their overload: where types leave several, one step each."""


def weights(name: str, *, resolved: bool) -> tuple[_Before | None, _After | None]:
    """Return what a call costs before and after it runs; `resolved` has its types."""
    if name in BY_OVERLOAD and not resolved:
        return _made_at_once, None
    return BEFORE.get(name), AFTER.get(name)


# How many steps the parts of an expression take, as far as that is known before they run.
#
# Terms of `&&` and `||`, the ends of `?:`, rounds of loops and calls whose cost grows with what
# they are given are not sure to be evaluated, or not known: they pay when they are.
#
# Source of the rules: upstream cel-go interpreter/runtimecost.go `Observe`,
# interpreter/planner.go (what is a constant, and what one attribute with its fields),
# parser/macro.go (what loops stand for)

CONVERSIONS = frozenset(
    {"bool", "bytes", "double", "dyn", "duration", "int", "string", "timestamp", "type", "uint"}
)
"""What is done of a constant before anything is evaluated."""
_INDEXES = frozenset({"_[_]", "_[?_]"})
_NEW = MappingProxyType({ListLiteral: 10, nodes.MapLiteral: 30, nodes.StructLiteral: 40})
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
    if not isinstance(node, nodes.Literal) or node.value.__class__ not in PLAIN:
        return None
    if node.value.__class__ is str and len(node.value) > _LONGEST_PLAIN:
        return None
    return int(node.value != "")


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
    if isinstance(node, nodes.Bind):
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
        if node.function == "@in":  # a list that is constant costs nothing
            return sum(steps(one, checked) for one in node.arguments)
    elif node.function in {"or", "orValue"} and node.target is not None:
        return steps(node.target, checked)
    function, fitting = checked.overloads[node.id]
    parts = (node.target, *node.arguments) if node.target and fitting[0].member else node.arguments
    resolved = len(fitting) == 1
    # As upstream, what goes by the overload costs one step where the types leave several; other
    # calls that have a weight pay when they are run.
    pays_later = (resolved or function.name not in BY_OVERLOAD) and (
        (resolved and fitting[0].cost > 1)
        or weights(function.name, resolved=resolved) != (None, None)
    )
    return (not pays_later) + sum(steps(one, checked) for one in parts)


def _of_attribute(node: Node, checked: Checked) -> int:
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
    if node.kind in {"all", "exists"}:
        more = node.kind == "exists"
        return RoundSteps(3 + more + test, stopped=2 + more)
    if node.kind in {"exists_one", "filter"}:
        return RoundSteps(test, taken=2 if node.kind == "exists_one" else 13)
    # To a result comes what it takes to add it to those of the rounds before.
    if node.kind in {"transformMap", "transformMapEntry"}:
        result += 3 if node.kind == "transformMap" else 2
    else:
        result += 2 if node.result is None or is_constant(node.result, checked) else 12
    return RoundSteps(result) if node.test is None else RoundSteps(test, taken=result)


def is_constant(node: Node, checked: Checked) -> bool:
    """Return whether the value of a node is known before anything is evaluated."""
    if isinstance(node, nodes.Literal):
        return True
    if isinstance(node, (Ident, Select)):
        name = checked.names.get(node.id, "").removeprefix(".")
        return name in TYPE_NAMES and checked.types[node.id].kind == "type"
    if isinstance(node, Call):
        if node.function == "@in":
            return isinstance(node.arguments[1], ListLiteral) and not node.arguments[1].elements
        converts = node.function in CONVERSIONS and node.target is None
        return converts and all(is_constant(one, checked) for one in node.arguments)
    if isinstance(node, (ListLiteral, nodes.MapLiteral)):
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
