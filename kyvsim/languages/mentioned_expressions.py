"""What expressions in CEL mention: the fields that they select, the constants beside them."""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, ClassVar

from kyvsim.cel.environment import Environment
from kyvsim.cel.macros import OR_VALUE
from kyvsim.cel.nodes import (
    Bind,
    Call,
    Ident,
    ListLiteral,
    Literal,
    Loop,
    Node,
    Select,
    children,
)
from kyvsim.cel.parser import ExpressionSyntaxError, parse
from kyvsim.kubernetes.objects import Json
from kyvsim.languages.mentioned import NOTHING, Notebook, Reading, either, endings, looked_up
from kyvsim.model.policy import About, Hole

_INDEX = frozenset({"_[_]", "_[?_]"})
_COMPARING = frozenset({"_==_", "_!=_", "_<_", "_<=_", "_>_", "_>=_"})
_LOGICAL = frozenset({"_&&_", "_||_", "!_"})
_LEFT_OUT = frozenset({"messageExpression", "valueExpression"})
"""Fields whose expressions decide nothing."""
_OUTSIDE = frozenset({"resource", "http", "globalContext", "image", "images", "params"})
"""Variables that ask for more than a request."""
_ASKED = frozenset({"resource", "http", "globalContext", "image"})
"""Those that are asked by calls."""
_JSON = (str, int, float, bool, type(None))


def read_expressions(data: Json, env: Environment, notes: Notebook) -> None:
    """Note what the expressions of a policy mention; its variables are followed."""
    variables: dict[str, Reading] = {}
    for name, text in _texts(data):
        try:
            found = _Walk(notes, variables).read(parse(text, env.macros))
        except (ExpressionSyntaxError, RecursionError):
            continue
        notes.read(found)
        if name:
            variables[name] = found


def _texts(value: Json, inside: str = "") -> Iterator[tuple[str, str]]:
    """Yield the expressions: those of variables first, with their names, others in order."""
    if value.__class__ is list:
        for one in value:
            yield from _texts(one, inside)
    elif value.__class__ is dict:
        for field in sorted(value, key=lambda name: name != "variables"):
            one = value[field]
            if field == "expression" and one.__class__ is str:
                yield str(value.get("name") or "") if inside == "variables" else "", one
            elif field not in _LEFT_OUT:
                yield from _texts(one, field)


class _Walk:
    """Reads the tree of one expression."""

    def __init__(self, notes: Notebook, variables: Mapping[str, Reading]) -> None:
        self._notes = notes
        self._variables = variables
        self._bound: dict[str, Reading] = {}

    def read(self, node: Node) -> Reading:
        """Return what a node may come to."""
        reader = self._READERS.get(node.__class__)
        return reader(self, node) if reader else self._every(node)

    def _every(self, node: Node) -> Reading:
        return either([self._notes.read(self.read(one)) for one in children(node)])

    def _literal(self, node: Literal) -> Reading:
        value = node.value
        return Reading(values=(value,)) if isinstance(value, _JSON) else NOTHING

    def _ident(self, node: Ident) -> Reading:
        if node.name in self._bound:
            return self._bound[node.name]
        if node.name in _OUTSIDE:
            self._notes.note(About.WORLD, (node.name,))
        return Reading(((node.name,),))

    def _select(self, node: Select) -> Reading:
        operand = node.operand
        if isinstance(operand, Ident) and operand.name == "variables":
            return self._variables.get(node.field, NOTHING)
        found = self.read(operand).below(node.field)
        if node.test:
            self._notes.read(found)
            return NOTHING
        return found

    def _call(self, node: Call) -> Reading:
        name, parts = node.function, node.arguments
        if isinstance(node.target, Ident) and node.target.name in _ASKED:
            return self._looked_up(node.target.name, node)
        if name in _INDEX:
            return self._index(parts[0], parts[1])
        if name == "_?_:_":
            self._notes.read(self.read(parts[0]))
            return either(map(self.read, parts[1:]))
        if name == "@in":
            return self._membership(parts[0], parts[1])
        if name == OR_VALUE:
            return either(map(self.read, parts))
        if name in {"_+_", "replace"}:
            # What texts are put together of, or rewritten with, is nothing to compare with.
            return self._every(node)._replace(values=())
        every = [self.read(one) for one in children(node)]
        if name in _COMPARING and len(every) == 2:
            for one in every:
                self._notes.read(one)
            self._notes.compare(*every)
            return NOTHING
        whole = self._notes.read(either(map(_MEANT.get(name, _as_it_is), every)))
        # A logical operator gives true or false; whatever else is called may hand something on.
        return NOTHING if name in _LOGICAL else whole._replace(counts=name == "size")

    def _looked_up(self, source: str, node: Node) -> Reading:
        self._every(node)
        return looked_up(source)

    def _index(self, operand: Node, key: Node) -> Reading:
        found = self.read(operand)
        if isinstance(key, Literal) and isinstance(key.value, str):
            return found.below(key.value)
        self._notes.read(self.read(key))
        if isinstance(key, Literal):
            return found.below(Hole.ELEMENT)
        return either((found.below(Hole.ELEMENT), found.below(Hole.KEY)))

    def _membership(self, value: Node, among: Node) -> Reading:
        """Read `value in among`: among are the elements of a list, or the keys of a map."""
        one, some = self.read(value), self.read(among)
        self._notes.compare(one, some)
        self._notes.hold(some.elements, one.values)
        for key in one.values:
            if isinstance(key, str):
                self._notes.read(some.below(key))
        return NOTHING

    def _loop(self, node: Loop) -> Reading:
        source = self.read(node.source)
        self._notes.read(source)
        element = source.elements
        before = dict(self._bound)
        self._bound[node.variables[-1]] = element._replace(values=source.values)
        if len(node.variables) == 2:
            # The index or key leads nowhere; values may be a map's.
            self._bound[node.variables[0]] = NOTHING
            self._bound[node.variables[1]] = either((element, source.below(Hole.KEY)))
        read = [self._notes.read(self.read(one)) for one in (node.test, node.result) if one]
        self._bound = before
        return source if node.result is None else read[-1]._replace(spread=True)

    def _bind(self, node: Bind) -> Reading:
        before = dict(self._bound)
        self._bound[node.variable] = self.read(node.value)
        found = self.read(node.body)
        self._bound = before
        return found

    def _list(self, node: ListLiteral) -> Reading:
        return either(map(self.read, node.elements))

    _READERS: ClassVar[Mapping[type, Callable[["_Walk", Any], Reading]]] = MappingProxyType(
        {
            Literal: _literal,
            Ident: _ident,
            Select: _select,
            Call: _call,
            Loop: _loop,
            Bind: _bind,
            ListLiteral: _list,
        }
    )


def _beginnings(reading: Reading) -> Reading:
    """Return a reading without the beginnings of lists and maps in JSON: these are no texts."""
    return reading._replace(values=tuple(one for one in reading.values if one not in {"[", "{"}))


def _as_it_is(reading: Reading) -> Reading:
    return reading


_MEANT: Mapping[str, Callable[[Reading], Reading]] = MappingProxyType(
    {"startsWith": _beginnings, "endsWith": endings}
)
"""What the texts given to some functions say of the texts that they are asked for."""
