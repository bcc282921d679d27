"""Checks of the logic of CEL: contradictions, loops without effect, tests that accept too much."""

import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

from kyvsim.cel import CelBudgetError, CelError, CompileError, compile_expression
from kyvsim.cel.macros import OR_VALUE
from kyvsim.cel.nodes import Bind, Call, Ident, ListLiteral, Literal, Loop, Node, Select, children
from kyvsim.cel.unparse import written
from kyvsim.kubernetes.objects import Path
from kyvsim.linting.cel_policy import CelPolicy, ParsedExpression, is_name
from kyvsim.linting.patterns import needless_escape
from kyvsim.model import ports
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.request import OPERATIONS

_NEGATED: Mapping[str, str] = {
    "_==_": "_!=_",
    "_!=_": "_==_",
    "@in": "not in",
    "not in": "@in",
    "has": "not has",
    "not has": "has",
    "_<_": "_>=_",
    "_>=_": "_<_",
    "_>_": "_<=_",
    "_<=_": "_>_",
}
_SWAPPED: Mapping[str, str] = {
    "_==_": "_==_",
    "_!=_": "_!=_",
    "_<_": "_>_",
    "_>_": "_<_",
    "_<=_": "_>=_",
    "_>=_": "_<=_",
}
_HOLDS: Mapping[str, Callable[[Any, Any], bool]] = {
    "_==_": lambda value, given: value in given,
    "@in": lambda value, given: value in given,
    "_!=_": lambda value, given: value not in given,
    "not in": lambda value, given: value not in given,
    "_<_": lambda value, given: _ordered(operator.lt, value, given),
    "_<=_": lambda value, given: _ordered(operator.le, value, given),
    "_>_": lambda value, given: _ordered(operator.gt, value, given),
    "_>=_": lambda value, given: _ordered(operator.ge, value, given),
    "startsWith": lambda value, given: isinstance(value, str) and value.startswith(given[0]),
    "endsWith": lambda value, given: isinstance(value, str) and value.endswith(given[0]),
    "contains": lambda value, given: isinstance(value, str) and given[0] in value,
    "lowerAscii": lambda value, _: isinstance(value, str) and value == value.lower(),
    "upperAscii": lambda value, _: isinstance(value, str) and value == value.upper(),
}
_CHAINS: Mapping[str, bool] = {"_||_": True, "_&&_": False}
"""Operators of chains, and the value that decides them."""
_TESTS = frozenset({*_HOLDS, *_CHAINS, "_?_:_"})
_COUNTS = frozenset({"size", "verifyImageSignatures", "verifyAttestationSignatures"})
"""Functions whose result is never negative."""


def _ordered(order: Callable[[Any, Any], bool], value: Any, given: Any) -> bool:
    is_known = _is_number(value) and _is_number(given[0])
    return order(value, given[0]) if is_known else True


class Atom(NamedTuple):
    """What a test demands of one operand."""

    operand: Node
    relation: str
    values: tuple[Any, ...] = ()


_Scope: TypeAlias = Mapping[str, Node]
"""The elements of lists that loops made, by the name of the variable."""


def _atom(node: Node) -> Atom | None:
    """Return a test of one operand against literals; None for other tests."""
    if isinstance(node, Select):
        plain = Select(node.id, node.at, node.operand, node.field, node.optional)
        return Atom(plain, "has") if node.test else Atom(plain, "_==_", (True,))
    if not isinstance(node, Call) or node.function not in _HOLDS:
        return None
    relation, parts = node.function, children(node)
    if len(parts) != 2:
        return None
    if isinstance(parts[0], Literal) and relation in _SWAPPED:
        parts, relation = parts[::-1], _SWAPPED[relation]
    operand, given = parts
    literals = given.elements if relation == "@in" and isinstance(given, ListLiteral) else (given,)
    values = tuple(one.value for one in literals if isinstance(one, Literal))
    is_plain = not isinstance(operand, Literal) and len(values) == len(literals)
    return Atom(operand, relation, values) if values and is_plain else None


def demands(node: Node, *, holds: bool = True) -> Iterator[Atom]:
    """Yield what is demanded if an expression holds, or if it does not."""
    if isinstance(node, Call) and node.function == "!_":
        yield from demands(node.arguments[0], holds=not holds)
    elif isinstance(node, Call) and node.function == ("_&&_" if holds else "_||_"):
        for one in node.arguments:
            yield from demands(one, holds=holds)
    elif (atom := _atom(node)) and holds:
        yield atom
    elif atom and atom.relation in _NEGATED:
        yield atom._replace(relation=_NEGATED[atom.relation])


def _contradiction(atoms: Iterable[Atom]) -> str:
    """Return the operand for which tests never hold together, or ""."""
    alike: dict[str, list[Atom]] = {}
    for one in atoms:
        alike.setdefault(_last_name(one.operand), []).append(one)
    for several in alike.values():
        # Most operands are tested once, and their texts need not be written.
        if len(several) == 1 or all(one.relation == "has" for one in several):
            continue
        by_text: dict[str, list[Atom]] = {}
        for one in several:
            by_text.setdefault(written(one.operand), []).append(one)
        for text, its in by_text.items():
            if _never_together(its) and "random" not in text:
                return text
    return ""


def _are_same(left: Node, right: Node) -> bool:
    is_alike = left.__class__ is right.__class__ and _last_name(left) == _last_name(right)
    return is_alike and written(left) == written(right)


def _last_name(node: Node) -> str:
    if isinstance(node, Select):
        return node.field
    if isinstance(node, Ident):
        return node.name
    return node.function if isinstance(node, Call) else ""


def _never_together(atoms: list[Atom]) -> bool:
    relations = {one.relation for one in atoms}
    if "not has" in relations:
        return len(relations) > 1  # without the field, other tests are errors
    tests = [one for one in atoms if one.relation != "has"]
    # Values at which something changes, and those between them.
    numbers = sorted({value for one in tests for value in one.values if _is_number(value)})
    between = [(low + high) / 2 for low, high in pairwise(numbers)]
    ends = [numbers[0] - 1, numbers[-1] + 1] if numbers else []
    texts = [one for one in tests if one.relation in {"startsWith", "endsWith", "contains"}]
    cases = [_HOLDS[one] for one in relations if one.endswith("Ascii")]
    if any(not case(one.values[0], ()) for case in cases for one in texts):
        return True
    chosen = [one.values for one in tests if one.relation in {"_==_", "@in"}]
    possible = [*chosen[0]] if chosen else [*numbers, *between, *ends]
    if not chosen and not numbers:
        starts = sorted(one.values[0] for one in texts if one.relation == "startsWith")
        return any(not high.startswith(low) for low, high in pairwise(starts))
    return not any(
        all(_HOLDS[one.relation](value, one.values) for one in tests) for value in possible
    )


def _is_number(value: object) -> bool:
    return value.__class__ in {int, float}


def _tests(expression: ParsedExpression) -> Iterator[tuple[Call, _Scope]]:
    """Yield the tests of an expression: whole chains of `&&` or `||`, comparisons and choices."""
    calls: list[Call] = []
    inner: set[int] = set()
    scope: dict[str, Node] = {}
    for node in expression.nodes():
        if isinstance(node, Loop):
            source = node.source
            if isinstance(source, Loop) and source.kind == "map" and source.result is not None:
                scope[node.variables[-1]] = source.result
        elif isinstance(node, Call) and node.function in _TESTS:
            calls.append(node)
            if node.function in _CHAINS:
                # Parts that are chains of the same operator belong to it.
                inner.update(
                    part.id
                    for part in node.arguments
                    if isinstance(part, Call) and part.function == node.function
                )
    return ((node, scope) for node in calls if node.id not in inner)


def _always_true_of(node: Node, scope: _Scope) -> Atom | None:
    """Return what is known of the result of a function, whatever its arguments are."""
    called = scope.get(node.name) if isinstance(node, Ident) else node
    if not isinstance(called, Call):
        return None
    if called.function in _COUNTS:
        counted = children(called)[0]
        # A text has at least one part.
        inner = counted.function if isinstance(counted, Call) else ""
        # A response has fields, of which `items` has the objects.
        is_split = inner == "split" and len(children(counted)) == 2
        least = 1 if is_split or inner in {"List", "list"} else 0
        return Atom(node, "_>=_", (least,))
    return Atom(node, called.function) if called.function.endswith("Ascii") else None


def constant_logic(policy: CelPolicy) -> Iterator[Diagnostic]:
    """KV240: tests of one value that exclude each other, or of which one always holds."""
    for one in policy.expressions:
        for node, scope in _tests(one):
            problem = _constant(node, scope)
            if problem:
                yield policy.warn("KV240", problem, one.path)
    yield from _exclusive_conditions(policy)


def _constant(node: Call, scope: _Scope) -> str:
    """Return why a call has the same value for all objects, or does less than it seems to do."""
    operation, parts = node.function, node.arguments
    if operation in _HOLDS:
        return _constant_test(node, scope)
    if operation == "_?_:_" and _are_same(*parts[1:]):
        return f"both branches of `{written(node)}` are the same"
    absorbing = _CHAINS.get(operation)
    if absorbing is None:
        return ""
    if any(isinstance(one, Literal) and one.value is absorbing for one in parts):
        return f"`{written(node)}` is always {'true' if absorbing else 'false'}"
    required = [*demands(node, holds=not absorbing)]
    operand = _contradiction(required)
    if not absorbing and operand:
        return f"`{written(node)}` is never true: the tests of `{operand}` exclude each other"
    # If a field is missing, other tests of it are errors.
    if operand and not any(one.relation == "not has" for one in required):
        return (
            f"`{written(node)}` is always true, whatever `{operand}` is: write `&&` instead of `||`"
        )
    return _read_if_missing(node, required)


def _read_if_missing(node: Call, required: Iterable[Atom]) -> str:
    """Return that a chain of tests reads a field just if it is missing, or "".

    `required` are the tests whose results leave the result to the others.
    """
    for one in required:
        if one.relation != "not has":
            continue
        nodes, field = ParsedExpression((), "", node).nodes(), written(one.operand)
        alike = [each for each in nodes if isinstance(each, Select) and written(each) == field]
        rebinds = any(isinstance(each, Loop | Bind) for each in nodes)
        tested = f"has({field})"
        tests = [each for each in nodes if isinstance(each, Select) and written(each) == tested]
        if alike and not rebinds and len(tests) == 1:
            is_either = node.function == "_||_"
            sign, wrong = ("||", tested) if is_either else ("&&", f"!{tested}")
            meant = f"!{tested}" if is_either else tested
            return (
                f"`{written(node)}` reads `{field}` just if it is missing, which is an error: "
                f"write `{meant} {sign}` instead of `{wrong} {sign}`"
            )
    return ""


def _constant_test(node: Call, scope: _Scope) -> str:
    parts = children(node)
    known = [*filter(None, (_always_true_of(one, scope) for one in parts))]
    for holds, when in ((False, "always"), (True, "never")):
        if known and _contradiction([*known, *demands(node, holds=holds)]):
            least = known[0].values[0] if known[0].values else None
            which = {None: "in one case of letters", 0: "never negative", 1: "at least 1"}[least]
            operand = written(known[0].operand)
            return f"`{written(node)}` is {when} true, since `{operand}` is {which}"
    if node.function in _ORDERS and _is_negative_age(parts[0]):
        when = "always" if node.function in {"_<_", "_<=_"} else "never"
        return (
            f"`{written(node)}` is {when} true, since objects are created in the past: write "
            "`time.now() - timestamp(…)`"
        )
    if node.function == "@in" and isinstance(parts[1], ListLiteral) and not parts[1].elements:
        return f"`{written(node)}` is never true, since the list is empty"
    is_indexed = isinstance(parts[0], Call) and parts[0].function == "_[_]"
    is_read = is_indexed or isinstance(parts[0], Select | Ident)
    if node.function in _SWAPPED and is_read and _are_same(*parts):
        return f"`{written(node)}` compares a value with itself"
    if node.function in {"_==_", "_!=_"}:
        return unlike_default(*parts) or unlike_default(*parts[::-1])
    return ""


def _is_negative_age(node: Node) -> bool:
    """Return whether a node is the time of creation minus the present."""
    if not isinstance(node, Call) or node.function != "_-_":
        return False
    since, until = (written(one) for one in node.arguments)
    return "creationTimestamp" in since and "now" not in since and until == "time.now()"


def unlike_default(operand: Node, given: Node) -> str:
    """Return that a value is compared with a constant of another type than its default, or ""."""
    is_defaulted = isinstance(operand, Call) and operand.function in {"orValue", OR_VALUE}
    default = children(operand)[1] if is_defaulted else None
    if not isinstance(default, Literal) or not isinstance(given, Literal):
        return ""
    kinds = {default.value.__class__, given.value.__class__}
    if given.value is None and default.value is not None:
        return f"`{written(operand)}` is never null: its default is `{written(default)}`"
    if kinds != {bool, str}:
        return ""
    return f"`{written(operand)}` has a default of another type than `{written(given)}`"


_OPERATION = Atom(Select(0, 0, Ident(0, 0, "request"), "operation"), "@in", OPERATIONS)


def _exclusive_conditions(policy: CelPolicy) -> Iterator[Diagnostic]:
    rules = policy.spec.resource_rules
    operations = {name for rule in rules for name in rule.operations or ("*",)}
    matched: list[Atom] = []
    if operations and "*" not in operations and policy.kind != "DeletingPolicy":
        matched.append(_OPERATION._replace(values=tuple(sorted(operations))))
    atoms = [*matched]
    for one in policy.expressions:
        if one.list_name not in {"matchConditions", "conditions"} or one.path[-1] != "expression":
            continue
        own = [*demands(one.root)]
        operand = "" if _contradiction(own) else _contradiction([*atoms, *own])
        if operand:
            if operand == "request.operation" and _contradiction([_OPERATION, *own]):
                return  # reported with the value that is no operation
            what = "the conditions before it" if len(atoms) > 1 else "what comes before it"
            if operand == "request.operation":
                what = "the matched operations and the conditions before it"
            is_exception = policy.policy.document.data.get("kind") == "PolicyException"
            effect = f"so the {'exception' if is_exception else 'policy'} does nothing"
            text = (
                f"the condition `{one.text.strip()}` is never true together with {what}, which "
                f"also test `{operand}`, {effect}: all conditions must be true (write alternatives "
                "in one condition, with `||` or `in`)"
            )
            if operand == "request.operation" and _contradiction([*matched, *own]):
                text = (
                    f"the condition `{one.text.strip()}` is not true for any of the matched "
                    f"operations, {effect}: match other `operations`, or write another condition"
                )
            yield policy.warn("KV240", text, one.path)
            return
        atoms += own


_TESTING = frozenset({"all", "exists", "exists_one", "existsOne", "filter"})


def unread_elements(policy: CelPolicy) -> Iterator[Diagnostic]:
    """KV242: a loop whose test does not read the element, so that it tests the same each time."""
    for one in policy.expressions:
        for node in one.nodes() if "(" in one.text else ():
            if not isinstance(node, Loop) or node.kind not in _TESTING or node.test is None:
                continue
            tested = ParsedExpression((), "", node.test).nodes()
            if any(isinstance(each, Ident) and each.name in node.variables for each in tested):
                continue
            if isinstance(node.test, Literal):
                continue  # such as `filter(e, true)`
            names = " and ".join(f"`{name}`" for name in node.variables)
            text = (
                f"the test of `{node.kind}` does not read {names}, so it is the same for each "
                f"element of `{written(node.source)}`: `{written(node.test)}`"
            )
            yield policy.warn("KV242", text, one.path)


def _required(node: Node) -> Iterator[Node]:
    """Yield the tests that have to hold for a validation to pass, or one of them."""
    if isinstance(node, Call) and node.function in {"_&&_", "_||_"}:
        for one in node.arguments:
            yield from _required(one)
    elif isinstance(node, Call) and node.function == "_?_:_":
        for one in node.arguments[1:]:
            yield from _required(one)
    elif isinstance(node, Loop) and node.kind in {"all", "exists"} and node.test is not None:
        yield from _required(node.test)
    elif isinstance(node, Bind):
        yield from _required(node.body)
    else:
        yield node


_ORDERS = frozenset({"_<_", "_<=_", "_>_", "_>=_"})
_OF_AMOUNTS = frozenset({"limits", "requests", "capacity", "hard"})
_WRAPPERS = frozenset({"string", "dyn", "orValue", OR_VALUE})
_READERS: Mapping[str, tuple[re.Pattern[str], str]] = {
    "quantity": (re.compile(r"\d+(\.\d+)?(m|k|[MGTPE]|[KMGTPE]i)"), "'9Gi' > '10Gi'"),
    "duration": (re.compile(r"(\d+(\.\d+)?(ns|us|ms|[smhd]))+"), "'9h' > '10h'"),
    "semver": (re.compile(r"v?\d+(\.\d+){1,2}(-[\w.]+)?"), "'1.9' > '1.10'"),
    # Texts of the same length are in order, such as years, and digits from '0' to '9'.
    "int": (re.compile(r"[1-8]|[1-9]\d\d?"), "'9' > '10'"),
}
"""Functions by the form of the texts that they read, and how CEL orders such texts."""


def texts_in_order(policy: CelPolicy) -> Iterator[Diagnostic]:
    """KV344: an amount, a duration, a version or a number that is ordered as text.

    upstream: k8s.io/apiserver pkg/cel/library/quantity.go
    """
    for one in policy.expressions:
        for node in one.nodes():
            if not isinstance(node, Call) or node.function not in _ORDERS:
                continue
            reader = _reader_of_texts(node, policy)
            if reader:
                left, right = (_read_by(reader, part) for part in node.arguments)
                order = node.function.strip("_")
                is_plain = reader in {"int", "duration"}
                meant = f"{left} {order} {right}"
                meant = meant if is_plain else f"{left}.compareTo({right}) {order} 0"
                text = (
                    f"`{written(node)}` compares the characters of texts, so that "
                    f"{_READERS[reader][1]}: write `{meant}`"
                )
                instead = (written(node), meant)
                yield policy.warn("KV344", text, one.path, instead=instead)


def _reader_of_texts(node: Call, policy: CelPolicy) -> str:
    """Return the function that should read both sides of a comparison, or ""."""
    plain = [_unwrapped(part, policy) for part in node.arguments]
    texts = [one.value for one in plain if isinstance(one, Literal) and isinstance(one.value, str)]
    amounts = [_amount(one) for one in plain]
    if any(amounts) and (texts or all(one in _QUANTITIES for one in amounts)):
        return "quantity"
    forms = _READERS.items() if len(texts) == 1 else ()
    found = next((name for name, (form, _) in forms if form.fullmatch(texts[0])), "")
    # The types of fields are checked elsewhere: a number is never ordered with a text.
    return "" if found == "int" and not any(map(_is_text, node.arguments)) else found


def _is_text(node: Node) -> bool:
    """Return whether a node is certainly a text, such as `string(…)` or a label."""
    if not isinstance(node, Call):
        return False
    parts = children(node)
    if node.function in {"orValue", OR_VALUE}:
        return isinstance(parts[1], Literal) and isinstance(parts[1].value, str)
    is_indexed = node.function == "_[_]" and isinstance(parts[0], Select | Call)
    names = {getattr(parts[0], "field", ""), getattr(parts[0], "function", "")} if parts else set()
    return node.function in _TEXTS or (is_indexed and not names.isdisjoint(_OF_TEXTS))


_TEXTS = frozenset({"string", "find", "substring", "replace", "trim"})
_OF_TEXTS = frozenset({"labels", "annotations", "data", "split"})


def _unwrapped(node: Node, policy: CelPolicy) -> Node:
    """Return a node without conversions to text and defaults, and the value of a variable."""
    while isinstance(node, Call) and node.function in _WRAPPERS:
        node = children(node)[0]
    variable = policy.variable(node)
    return node if variable is None else variable.root


_QUANTITIES = frozenset({"cpu", "memory", "storage", "ephemeral-storage"})


def _amount(node: Node) -> str:
    """Return the name of a limit or request that a node reads, or ""."""
    if isinstance(node, Select):
        owner, name = node.operand, node.field
    elif isinstance(node, Call) and node.function in {"_[_]", "_[?_]"}:
        owner, key = node.arguments
        name = str(key.value) if isinstance(key, Literal) else ""
    else:
        return ""
    return name if isinstance(owner, Select) and owner.field in _OF_AMOUNTS else ""


def _read_by(reader: str, node: Node) -> str:
    text = node.value if isinstance(node, Literal) else None
    if isinstance(text, str) and reader == "int":
        return text
    if isinstance(text, str) and reader == "semver":
        number, dash, rest = text.removeprefix("v").partition("-")
        text = f"{number}{'.0' * (2 - number.count('.'))}{dash}{rest}"
        return f"semver('{text}')"
    return f"{reader}({written(node)})"


_HOST = r"(https?://)?[a-z0-9-]+(?:\.[a-z0-9-]+)+(?::\d+)?"
_ANY_CHARACTER = re.compile(
    r"(?<![\\\w])(\.?(?:[a-z0-9-]+\.)+(?:io|com|org|net|dev|cloud|local|internal))(?=[/:$|)]|$)"
)
"""A host in a regular expression whose dots are not escaped."""
_GLOB = r"\^?[\w./:-]*[\w/:-]\*\$?"
"""A wildcard in a regular expression that has no other sign than its `*`."""
_OPEN_START = r"\.[*+](?=.*[^.*+])"
_OPEN_END = r"(?<!\\)\.[*+]$"


def loose_texts(policy: CelPolicy) -> Iterator[Diagnostic]:
    """KV360: a prefix or regular expression that accepts more texts than it shows.

    upstream: github.com/google/cel-go common/types/string.go: `matches` searches, as RE2 does
    """
    found: dict[Path, str] = {}
    for one in policy.expressions:
        required = _required_tests(policy, one) if policy.validates and one.is_test else ()
        for path, node, is_required in (
            *((path, node, True) for path, node in required),
            *((one.path, node, False) for node in one.nodes()),
        ):
            if not isinstance(node, Call) or node.target is None or len(node.arguments) != 1:
                continue
            given = node.arguments[0]
            value = given.value if isinstance(given, Literal) else None
            problem = ""
            if not isinstance(value, str):
                continue
            if node.function == "startsWith" and is_required:
                problem = _prefix_problem(node.target, value)
            elif node.function == "matches":
                problem = _regex_problem(node.target, value, is_required=is_required)
            if problem:
                found.setdefault(path, problem)
    for path, problem in found.items():
        yield policy.warn("KV360", problem, path)


def _regex_problem(target: Node, value: str, *, is_required: bool) -> str:
    if re.fullmatch(_GLOB, value):
        return (
            f"`*` is not a wildcard in the regular expression `{value}`, but repeats the "
            f"character before it: write `{value.rstrip('$*')}.*`"
        )
    meant = regex_meant(value, is_required=is_required, is_name=_is_name(target))
    if meant:
        return (
            f"`matches` searches in the whole text, so `{written(target)}` may have "
            f"anything beside `{value}`: write `'{meant}'`"
        )
    host = _ANY_CHARACTER.search(value)
    text = f"`.` is any character in the regular expression `{value}`: write"
    return f"{text} `{host[1].replace('.', '[.]')}`" if host else ""


def _required_tests(policy: CelPolicy, one: ParsedExpression) -> Iterator[tuple[Path, Node]]:
    """Yield the tests that have to hold, or one of them, also those of variables."""
    for node in _required(one.root):
        variable = policy.variable(node)
        if variable is not None and variable.path != one.path:
            yield from _required_tests(policy, variable)
        else:
            yield one.path, node


_PROSE = frozenset({"annotations", "args", "command", "data", "stringData", "message"})


def _is_name(node: Node) -> bool:
    """Return whether a text is a name, label or the like, in which hardly anything is searched."""
    nodes = ParsedExpression((), "", node).nodes()
    fields = {one.field for one in nodes if isinstance(one, Select)}
    return bool(fields) and _PROSE.isdisjoint(fields)


def _prefix_problem(target: Node, prefix: str) -> str:
    found = re.fullmatch(_HOST, prefix)
    is_image = isinstance(target, Select) and target.field == "image"
    if found is None or not (found[1] or is_image):
        return ""
    return (
        f"`{written(target)}` can also be on another host, such as `{prefix}.example.com/`, since "
        f"the prefix has no slash: write `'{prefix}/'`"
    )


_FLAGS = re.compile(r"\(\?[imsU]+\)")
_TOKEN = re.compile(r"\\.|\[\^?\]?(?:\\.|\[:\w+:\]|[^\]\\])*\]|.", re.DOTALL)
_CLASSES = frozenset({"\\d", "\\w", "\\s", "\\D", "\\W", "\\S"})
_EDGES = frozenset({"^", "$", "\\A", "\\z", "\\b", "\\B"})


_BETWEEN = frozenset({"-", ".", "/", ":", "_", "\\-", "\\.", "\\/"})
"""What is between the parts of names."""


def regex_meant(pattern: str, *, is_required: bool, is_name: bool) -> str:
    """Return a regular expression with the anchors that one seems to lack, or "".

    If it is not required, only if one of its alternatives has an anchor that others lack. In
    texts other than names, expressions may be meant to be searched.
    """
    flags = found[0] if (found := _FLAGS.match(pattern)) else ""
    tokens = _TOKEN.findall(pattern.removeprefix(flags))
    depth = 0
    parts: list[list[str]] = [[]]  # the alternatives outside of groups
    for token in tokens:
        depth += {"(": 1, ")": -1}.get(token, 0)
        if (token, depth) == ("|", 0):
            parts.append([])
        else:
            parts[-1].append(token)
    plain = "".join(tokens[tokens[:1] == ["^"] : len(tokens) - (tokens[-1:] == ["$"])])
    if len(parts) > 1 and any(one[:1] == ["^"] or one[-1:] == ["$"] for one in parts):
        starts = {one[:1] == ["^"] or one[:2] == [".", "*"] for one in parts}
        ends = {one[-1:] == ["$"] or one[-2:] == [".", "*"] for one in parts}
        is_mixed = len(starts) > 1 or len(ends) > 1
        # Such as `^kube-|-system$`, a prefix and a suffix.
        is_affix = not _BETWEEN.isdisjoint((*parts[0][-1:], *parts[-1][:1]))
        return f"{flags}^({plain})$" if is_mixed and not is_affix else ""
    if not is_required or not tokens or not _EDGES.isdisjoint(tokens):
        return ""
    opened, ended = re.match(_OPEN_START, pattern), re.search(_OPEN_END, pattern)
    if is_name and len(parts) > 1:
        return f"{flags}^({plain})$"
    if is_name and (tokens[0] in {"(", *_CLASSES} or tokens[0].startswith("[")):
        return f"{flags}^{plain}$"
    if ended and not opened:
        return f"^{pattern}"
    return f"{pattern}$" if opened and not ended else ""


_PARTS = frozenset({"startsWith", "endsWith", "contains"})
_COMPARING = frozenset({*_PARTS, *_SWAPPED, "@in"})
_NAMES = re.compile(
    r".*\.(image|metadata\.\??(name|namespace))|request\.(name|namespace)|.*userInfo\.username"
)
"""Fields whose values never have wildcards."""
_WILDCARD = re.compile(r".*[^*]\*|\*.*[^*].*", re.DOTALL)
_ACCOUNT = "system:serviceaccount:"
_NEVER_IN: Mapping[str, str] = {"registry": "/@", "tag": "/:@", "repository": ":@"}
"""Characters that parts of image references never have."""


def impossible_texts(policy: CelPolicy) -> Iterator[Diagnostic]:
    """KV240: a constant that a name never is; KV309: one with an escape; KV336: a swapped one."""
    for one in policy.expressions:
        for node in one.nodes():
            if not isinstance(node, Call) or node.function not in {*_COMPARING, "split", "replace"}:
                continue
            if node.target is not None and is_name(node.target, "regex"):
                continue  # regex.replace
            texts = [each.value for each in children(node) if isinstance(each, Literal)]
            escapes = (needless_escape(each) for each in texts if isinstance(each, str))
            if escape := next(filter(None, escapes), ""):
                yield policy.warn("KV309", escape, one.path)
                continue
            if node.function not in _COMPARING:
                continue
            code, problem = "KV240", _impossible(node, policy)
            searched = node.target
            if isinstance(searched, Literal) and not isinstance(node.arguments[0], Literal):
                text = str(searched.value)
                # A constant may be a list of words, one of which is searched.
                if node.function != "contains" or not re.search(r"[\s,;|]", text):
                    meant = f"{written(node.arguments[0])}.{node.function}({written(searched)})"
                    code, problem = "KV336", f"this searches in a constant: write `{meant}`"
            if problem:
                yield policy.warn(code, problem, one.path)


def _impossible(node: Call, policy: CelPolicy) -> str:
    """Return why a comparison with constants has the same result for all objects, or ""."""
    parts = children(node)
    if len(parts) != 2:
        return ""
    left, right = (_unwrapped(part, policy) for part in parts)
    if node.function == "@in" and isinstance(left, Literal) and isinstance(right, Select):
        pair = isinstance(left.value, str) and re.search(r"=|: ", left.value)
        if pair and right.field in {"labels", "annotations"}:
            key, value = re.split(r"=|: ", left.value, maxsplit=1)
            return (
                f"`in` finds keys of maps, and no key is `{left.value}`: write "
                f"`{written(parts[1])}[?'{key}'].orValue('') == '{value}'`"
            )
    operand, given = (right, left) if isinstance(left, Literal) else (left, right)
    name = written(operand)
    literals = given.elements if isinstance(given, ListLiteral) else (given,)
    texts = [each.value for each in literals if isinstance(each, Literal)]
    if isinstance(operand, Call) and name.startswith(("image(", "parseImageReference(")):
        signs = _NEVER_IN.get(operand.function, "")
        wrong = next((one for one in texts if isinstance(one, str) and {*one} & {*signs}), None)
        if wrong is not None and node.function != "matches":
            sign = next(one for one in signs if one in wrong)
            return f"`{operand.function}()` never has `{sign}`, but `{wrong}` has it"
    for text in texts if _NAMES.fullmatch(name) else ():
        if not isinstance(text, str):
            continue
        if _WILDCARD.fullmatch(text):
            return (
                f"`*` is not a wildcard in CEL, and no value has it: compare `{name}` with parts "
                f"of `{text}`, such as `{name}.startsWith('{text.partition('*')[0]}')`"
            )
        is_whole = node.function not in _PARTS and name.endswith("username")
        if is_whole and text.startswith(_ACCOUNT) and text.count(":") + text.count("/") * 2 != 3:
            return f"no service account has the name `{text}`: write `{_ACCOUNT}NAMESPACE:NAME`"
    return ""


_READING = frozenset(
    {
        *("quantity", "ip", "cidr", "url", "semver", "int", "uint", "double", "bool"),
        *("parseImageReference", "image", "substring"),
    }
)
"""Functions that read a text, and fail if it is not of their form."""
_CHECKED = frozenset({"duration", "timestamp", "matches", "find", "findAll"})
"""The same; other kinds are compiled with a check of their texts."""
_LONG = 256
_DAYS = r"(\d+)d"
_BYTES = r"([\d.]+) ?((?i:[kmgtp]i?b?))"


def unreadable_texts(policy: CelPolicy) -> Iterator[Diagnostic]:
    """KV350: a constant text that its function cannot read, so that evaluation is an error.

    Kyverno compiles the expressions of some kinds without the checks that reject such texts.
    """
    is_unchecked = policy.kind in {"GeneratingPolicy", "DeletingPolicy"}
    functions = _READING | (_CHECKED if is_unchecked else frozenset())
    for one in policy.expressions:
        if not any(f"{name}(" in one.text for name in functions):
            continue
        for node in one.nodes():
            if not isinstance(node, Call) or node.function not in functions:
                continue
            parts = node.arguments
            if not parts or not all(isinstance(each, Literal) for each in parts):
                continue
            # A long text, for positions in it.
            target = node.target if node.target is None else Literal(0, 0, "a" * _LONG)
            problem = _failure(
                written(Call(node.id, node.at, node.function, target, parts)), policy
            )
            if problem:
                text = f"`{written(node)}` is always an error: {problem}"
                first = parts[0].value if isinstance(parts[0], Literal) else None
                days = re.fullmatch(_DAYS, first) if isinstance(first, str) else None
                if node.function == "duration" and days:
                    text = f"{text} (there is no unit for days: write `{int(days[1]) * 24}h`)"
                amount = re.fullmatch(_BYTES, str(first)) if node.function == "quantity" else None
                if amount:
                    unit = amount[2][0].upper()
                    text = f"{text} (write `{amount[1]}{unit}i` or `{amount[1]}{unit}`)"
                yield policy.warn("KV350", text, one.path)


def _failure(text: str, policy: CelPolicy) -> str:
    """Return why a constant expression cannot be evaluated, or ""."""
    try:
        program = compile_expression(text, policy.env)
        program.evaluate([None] * len(policy.env.variables))
    except CelError as error:
        return str(error)
    except (CompileError, CelBudgetError, ports.BudgetError):
        return ""  # reported elsewhere, or unknown
    return ""


_TRUE_IF_ABSENT = frozenset({"automountServiceAccountToken", "allowPrivilegeEscalation"})
"""Fields that API servers do not set, and whose absence means true."""


def opposite_defaults(policy: CelPolicy) -> Iterator[Diagnostic]:
    """KV361: a missing field that is taken for false, though it means true.

    upstream: k8s.io/kubernetes pkg/securitycontext/util.go (AddNoNewPrivileges),
    plugin/pkg/admission/serviceaccount/admission.go (shouldAutomount)
    """
    for one in policy.expressions if policy.validates else ():
        if not any(name in one.text for name in _TRUE_IF_ABSENT):
            continue
        for node in one.nodes():
            if not isinstance(node, Call) or node.function not in {"orValue", OR_VALUE}:
                continue
            value, default = children(node)
            is_false = isinstance(default, Literal) and default.value is False
            field = value.field if isinstance(value, Select) else ""
            if is_false and field in _TRUE_IF_ABSENT:
                text = (
                    f"without `{field}`, Kubernetes assumes true, but `{written(node)}` is false: "
                    "write `orValue(true)`"
                )
                yield policy.warn("KV361", text, one.path)
