"""Costs: the runtime cost of calls, and the steps of nodes that are known in advance."""

from collections.abc import Callable, Mapping, Sequence
from math import ceil
from types import MappingProxyType
from typing import NamedTuple

from kyvsim.cel import nodes
from kyvsim.cel.checker import TYPE_NAMES, Checked
from kyvsim.cel.errors import CelBudgetError
from kyvsim.cel.nodes import Call, Ident, ListLiteral, Loop, Node, Select, children

# The costs of calls that take more than one step: they grow with arguments and results.
#
# Source of the figures: upstream cel-go interpreter/runtimecost.go and ext/lists.go, sets.go,
# math.go (version 3 of the lists), k8s.io/apiserver pkg/cel/library/cost.go. If upstream
# counts one step for a large result, results longer than `MAX_SIZE` are an error: upstream would
# allocate the memory.

MAX_SIZE = 10_000_000
"""The maximum of characters of a string, or elements of a list, created at once."""

_Before = Callable[[Sequence[object]], int]
_After = Callable[[Sequence[object], object], int]


def size_of(value: object) -> int:
    """Return the size of a value for costs; 1 if it has none."""
    if value.__class__ is list or value.__class__ is dict or value.__class__ is str:
        return len(value)  # most arguments have these types
    return len(value) if isinstance(value, (str, bytes, list, dict)) else 1


def bulk_of(value: object) -> int:
    """Return the approximate length of a value as text; raises BudgetError if it is too long."""
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
    """Raise BudgetError for results that are too long."""
    if size > MAX_SIZE:
        raise CelBudgetError


def _tenth(size: int) -> int:
    return ceil(size * 0.1)


def _traversed(given: Sequence[object]) -> int:
    return _tenth(size_of(given[0]))


def _elements(given: Sequence[object]) -> int:
    """Return the cost of reading a list, or the strings in it."""
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
    """Return the cost of a call that upstream counts as one step for results of any size."""
    size = sum(map(size_of, given))
    check_size(size)
    return size // 10 if size > FREE_SIZE else 0


def _ordered(given: Sequence[object]) -> int:
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
    """Return the cost of a range that is not rejected for its length."""
    count = given[0]
    return count + _NEW_LIST if count.__class__ is int and 0 <= count <= MAX_RANGE else 1


def _shown(given: Sequence[object]) -> int:
    for one in given:
        bulk_of(one)
    return _traversed(given)


def _searched(given: Sequence[object]) -> float:
    return (size_of(given[0]) + 1) * 0.1 * (size_of(given[1]) + 1) * 0.25


def _network_searched(given: Sequence[object]) -> int:
    """Return the cost of testing whether a network contains an address, or a string with one."""
    network, other = given
    size = ceil(getattr(network, "bits", 0) / 8)
    return _tenth(2 * size) + (_tenth(len(other)) if isinstance(other, str) else 0)


_NEW_LIST = 11
"""The cost of a call and a new list."""
FREE_SIZE = 500
"""The characters, or elements, per step if upstream counts one step for any number."""
MAX_RANGE = 1_000_000
"""The length of the longest range that upstream creates."""
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
"""The cost of a call that is known before it runs, by the function's name."""
AFTER: Mapping[str, _After] = {
    **dict.fromkeys(("slice", "reverse"), lambda _, result: size_of(result) + _NEW_LIST),
    "regex.extractAll": lambda given, result: ceil(_NEW_LIST + _searched(given) + size_of(result)),
    "regex.replace": lambda given, result: int(1 + _searched(given) + size_of(result)),
}
"""The cost that depends on the result."""
BY_OVERLOAD = frozenset(
    {
        *("_+_", "_<_", "_<=_", "_>_", "_>=_", "bytes", "string", "contains", "reverse"),
        *("sort", "@sortByAssociatedKeys", "math.@min", "math.@max"),
    }
)
"""Functions whose cost depends on the overload in upstream: one step if types leave several."""


def weights(name: str, *, resolved: bool) -> tuple[_Before | None, _After | None]:
    """Return the cost of a call before and after it runs; `resolved` is whether types are known."""
    if name in BY_OVERLOAD and not resolved:
        return _made_at_once, None
    return BEFORE.get(name), AFTER.get(name)


# The number of steps of an expression's parts, as far as it is known before they run.
#
# Terms of `&&` and `||`, branches of `?:`, iterations of loops and calls whose cost depends on
# arguments may not be evaluated, or have unknown costs: they count their steps when they run.
#
# Source of the rules: upstream cel-go interpreter/runtimecost.go `Observe`,
# interpreter/planner.go (constants, and attributes with their fields),
# parser/macro.go (expansions of loops)

CONVERSIONS = frozenset(
    {"bool", "bytes", "double", "dyn", "duration", "int", "string", "timestamp", "type", "uint"}
)
"""Conversions of constants that are evaluated at compile time."""
_INDEXES = frozenset({"_[_]", "_[?_]"})
_NEW = MappingProxyType({ListLiteral: 10, nodes.MapLiteral: 30, nodes.StructLiteral: 40})
PLAIN = frozenset({str, bool, int, type(None)})
"""The types of literals for which comparisons have a constant cost."""
_LONGEST_PLAIN = 10
"""The number of characters compared in one step."""


class RoundSteps(NamedTuple):
    """The steps of a loop."""

    each: int
    """Of each iteration."""
    taken: int = 0
    """Additional steps of an iteration whose test holds."""
    stopped: int = 0
    """Additional steps if an iteration decides before the last."""


def comparison_steps(node: Node) -> int | None:
    """Return the cost of comparing with this node; None if it depends on the values."""
    if not isinstance(node, nodes.Literal) or node.value.__class__ not in PLAIN:
        return None
    if node.value.__class__ is str and len(node.value) > _LONGEST_PLAIN:
        return None
    return int(node.value != "")


def steps(node: Node, checked: Checked) -> int:
    """Return the minimum number of steps that evaluating a node takes."""
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
        if node.function == "@in":  # a constant list costs nothing
            return sum(steps(one, checked) for one in node.arguments)
    elif node.function in {"or", "orValue"} and node.target is not None:
        return steps(node.target, checked)
    function, fitting = checked.overloads[node.id]
    parts = (node.target, *node.arguments) if node.target and fitting[0].member else node.arguments
    resolved = len(fitting) == 1
    # As upstream, a cost that depends on the overload is one step if the types leave several;
    # other calls with a variable cost count it when they run.
    pays_later = (resolved or function.name not in BY_OVERLOAD) and (
        (resolved and fitting[0].cost > 1)
        or weights(function.name, resolved=resolved) != (None, None)
    )
    return (not pays_later) + sum(steps(one, checked) for one in parts)


def _of_attribute(node: Node, checked: Checked) -> int:
    return steps(node, checked) + (not _is_attribute(node, checked))


def end_steps(node: Node, checked: Checked) -> int:
    """Return the steps of a branch of `?:`, where the first variable of a path is free."""
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
    """Return the steps of a loop's iterations: the macros expand to a condition and a step."""
    test = 0 if node.test is None else steps(node.test, checked)
    result = 0 if node.result is None else steps(node.result, checked)
    if node.kind in {"all", "exists"}:
        more = node.kind == "exists"
        return RoundSteps(3 + more + test, stopped=2 + more)
    if node.kind in {"exists_one", "filter"}:
        return RoundSteps(test, taken=2 if node.kind == "exists_one" else 13)
    # Adding the result to previous ones takes additional steps.
    if node.kind in {"transformMap", "transformMapEntry"}:
        result += 3 if node.kind == "transformMap" else 2
    else:
        result += 2 if node.result is None or is_constant(node.result, checked) else 12
    return RoundSteps(result) if node.test is None else RoundSteps(test, taken=result)


def is_constant(node: Node, checked: Checked) -> bool:
    """Return whether the value of a node is known before evaluation."""
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
    """Return whether a node is a variable, or a path of fields, elements and `?:` from one."""
    if is_constant(node, checked):
        return False
    if isinstance(node, Select):
        return not node.test
    if isinstance(node, Ident):
        return True
    return isinstance(node, Call) and node.target is None and node.function in {*_INDEXES, "_?_:_"}
