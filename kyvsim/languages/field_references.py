"""Collects the fields that policies read, and the values that they compare them with."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import ClassVar, NamedTuple

from kyvsim.cel.environment import Environment
from kyvsim.cel.kubernetes import kubernetes_environment
from kyvsim.cel.kyverno.environments import kyverno_environment
from kyvsim.cel.macros import OR_VALUE
from kyvsim.cel.nodes import Bind, Call, Ident, ListLiteral, Literal, Loop, Node, Select, children
from kyvsim.cel.parser import ExpressionSyntaxError, parse
from kyvsim.kubernetes.discovery import guessed_kind, kind_of_plural
from kyvsim.kubernetes.objects import Json
from kyvsim.model.field_reference import FieldPath, FieldReference, Segment, Subject
from kyvsim.model.policy import Policy
from kyvsim.model.ports import System
from kyvsim.policy.cel_policy import MatchConstraints, ResourceRule, expressions

_ROOTS: Mapping[str, Subject] = {
    "object": Subject.OBJECT,
    "oldObject": Subject.OLD_OBJECT,
    "target": Subject.OBJECT,
    "request": Subject.REQUEST,
    "namespaceObject": Subject.NAMESPACE,
    "world": Subject.WORLD,
}

IMAGE_PATHS: tuple[FieldPath, ...] = tuple(
    ("spec", name, Segment.ELEMENT, "image")
    for name in ("containers", "initContainers", "ephemeralContainers")
)
"""The paths of images in Pods."""


class FieldValues(NamedTuple):
    """The possible values of a part of an expression: those of some field paths, or constants.

    Paths begin with the name of a variable.
    """

    paths: tuple[FieldPath, ...] = ()
    values: tuple[Json, ...] = ()
    spread: bool = False
    """Whether this is a list of all values of the paths, rather than one of them."""
    counts: bool = False
    """Whether this is the size of the value."""

    @property
    def elements(self) -> "FieldValues":
        """The values of the elements of a list."""
        return self._replace(spread=False) if self.spread else self.below(Segment.ELEMENT)

    def below(self, step: str | Segment) -> "FieldValues":
        """Return the values of a child field."""
        return FieldValues(tuple((*path, step) for path in self.paths))


NOTHING = FieldValues()


def external_values(source: str) -> FieldValues:
    """Return a value from outside of the request; `source` is how it is loaded."""
    return FieldValues((("world", source),))


def either(readings: Iterable[FieldValues]) -> FieldValues:
    """Return the union of several values."""
    some = tuple(readings)
    return FieldValues(
        tuple(dict.fromkeys(path for one in some for path in one.paths)),
        tuple(value for one in some for value in one.values),
        counts=any(one.counts for one in some),
    )


class ReferenceCollector:
    """Collects the fields that were read and the values that they were compared with."""

    def __init__(self) -> None:
        self._values: dict[tuple[Subject, FieldPath], dict[str, object]] = {}
        self._sizes: dict[tuple[Subject, FieldPath], dict[int, None]] = {}
        self._alike: list[tuple[FieldPath, FieldPath]] = []
        """Paths that are compared with each other: values of one are also values of the other."""

    def note(self, about: Subject, path: FieldPath, values: Iterable[object] = ()) -> None:
        """Record a field and values for it."""
        known = self._values.setdefault((about, path), {})
        for value in values:
            known.setdefault(json.dumps(value, default=str), value)

    def read(self, reading: FieldValues) -> FieldValues:
        """Record the fields of a value, with its own constants; return it."""
        self.hold(reading, reading.values)
        return reading

    def hold(self, reading: FieldValues, values: Iterable[object]) -> None:
        """Record constants that are compared with a value."""
        held = tuple(values)
        for path in reading.paths:
            place = _subject_of(path)
            if place is None:
                continue
            self.note(*place, () if reading.counts else held)
            if reading.counts:
                self._sizes.setdefault(place, {}).update(
                    dict.fromkeys(
                        int(one)
                        for one in held
                        if one.__class__ in {int, float} and one == int(one)
                    )
                )

    def compare(self, one: FieldValues, other: FieldValues) -> None:
        """Record two values that are compared with each other."""
        self.hold(one, other.values)
        self.hold(other, one.values)
        if one.counts or other.counts:
            return
        self._alike += ((first, second) for first in one.paths for second in other.paths)

    def mentions(self) -> Iterator[FieldReference]:
        """Yield the recorded fields in order, without paths that only lead to others."""
        for one, other in self._alike:
            places = [place for place in map(_subject_of, (one, other)) if place in self._values]
            if len(places) == 2:
                whole = {**self._values[places[0]], **self._values[places[1]]}
                self._values.update(dict.fromkeys(places, whole))
        inner = {(about, path[:end]) for about, path in self._values for end in range(len(path))}
        for (about, path), values in self._values.items():
            sizes = tuple(self._sizes.get((about, path), ()))
            if values or sizes or (about, path) not in inner:
                yield FieldReference(about, path, tuple(values.values()), sizes)


def endings(reading: FieldValues) -> FieldValues:
    """Return a value whose strings are replaced by patterns for strings that end with them."""
    return reading._replace(
        values=tuple(f"*{one}" if isinstance(one, str) else one for one in reading.values)
    )


def _subject_of(path: FieldPath) -> tuple[Subject, FieldPath] | None:
    """Return the subject and the rest of a path; None if it does not start in a request."""
    if not path:
        return None
    root, *rest = path
    if root == "request" and rest[:1] in (["object"], ["oldObject"]):
        root, *rest = rest
    about = _ROOTS.get(root) if isinstance(root, str) else None
    return None if about is None else (about, tuple(rest))


def read_selector(selector: object, about: Subject, notes: ReferenceCollector) -> None:
    """Record the labels of a selector."""
    if selector.__class__ is not dict:
        return
    for key, value in (selector.get("matchLabels") or {}).items():
        notes.note(about, ("metadata", "labels", key), (value,))
    for one in selector.get("matchExpressions") or ():
        notes.note(about, ("metadata", "labels", one["key"]), one.get("values") or ())


_INDEX = frozenset({"_[_]", "_[?_]"})
_COMPARING = frozenset({"_==_", "_!=_", "_<_", "_<=_", "_>_", "_>=_"})
_LOGICAL = frozenset({"_&&_", "_||_", "!_"})
_OUTSIDE = frozenset({"resource", "http", "globalContext", "image", "images", "params"})
"""Variables whose values do not come from the request."""
_ASKED = frozenset({"resource", "http", "globalContext", "image"})
"""Those that are function calls."""
_JSON = (str, int, float, bool, type(None))


def read_texts(
    texts: Iterable[tuple[str, str]], env: Environment, notes: ReferenceCollector
) -> None:
    """Record the fields in expressions; those of variables come first, the name of others is ""."""
    variables: dict[str, FieldValues] = {}
    for name, text in texts:
        try:
            found = _ExpressionReader(notes, variables).read(parse(text, env.macros))
        except (ExpressionSyntaxError, RecursionError):
            continue
        notes.read(found)
        if name:
            variables[name] = found


class _ExpressionReader:
    def __init__(self, notes: ReferenceCollector, variables: Mapping[str, FieldValues]) -> None:
        self._notes = notes
        self._variables = variables
        self._bound: dict[str, FieldValues] = {}

    def read(self, node: Node) -> FieldValues:
        """Return the possible values of a node."""
        reader = self._READERS.get(node.__class__)
        return reader(self, node) if reader else self._every(node)

    def _every(self, node: Node) -> FieldValues:
        return either([self._notes.read(self.read(one)) for one in children(node)])

    def _literal(self, node: Literal) -> FieldValues:
        value = node.value
        return FieldValues(values=(value,)) if isinstance(value, _JSON) else NOTHING

    def _ident(self, node: Ident) -> FieldValues:
        if node.name in self._bound:
            return self._bound[node.name]
        if node.name in _OUTSIDE:
            self._notes.note(Subject.WORLD, (node.name,))
        return FieldValues(((node.name,),))

    def _select(self, node: Select) -> FieldValues:
        operand = node.operand
        if isinstance(operand, Ident) and operand.name == "variables":
            return self._variables.get(node.field, NOTHING)
        found = self.read(operand).below(node.field)
        if node.test:
            self._notes.read(found)
            return NOTHING
        return found

    def _call(self, node: Call) -> FieldValues:
        name, parts = node.function, node.arguments
        if isinstance(node.target, Ident) and node.target.name in _ASKED:
            self._every(node)
            return external_values(node.target.name)
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
            # Parts of a concatenation, or arguments of a replacement, are not compared.
            return self._every(node)._replace(values=())
        every = [self.read(one) for one in children(node)]
        if name in _COMPARING and len(every) == 2:
            for one in every:
                self._notes.read(one)
            self._notes.compare(*every)
            return NOTHING
        whole = self._notes.read(either(map(_MEANT.get(name, lambda reading: reading), every)))
        # A logical operator returns true or false; other functions may return an argument.
        return NOTHING if name in _LOGICAL else whole._replace(counts=name == "size")

    def _index(self, operand: Node, key: Node) -> FieldValues:
        found = self.read(operand)
        if isinstance(key, Literal) and isinstance(key.value, str):
            return found.below(key.value)
        self._notes.read(self.read(key))
        if isinstance(key, Literal):
            return found.below(Segment.ELEMENT)
        return either((found.below(Segment.ELEMENT), found.below(Segment.KEY)))

    def _membership(self, value: Node, among: Node) -> FieldValues:
        one, some = self.read(value), self.read(among)
        self._notes.compare(one, some)
        self._notes.hold(some.elements, one.values)
        for key in one.values:
            if isinstance(key, str):
                self._notes.read(some.below(key))
        return NOTHING

    def _loop(self, node: Loop) -> FieldValues:
        source = self.read(node.source)
        self._notes.read(source)
        element = source.elements
        before = dict(self._bound)
        self._bound[node.variables[-1]] = element._replace(values=source.values)
        if len(node.variables) == 2:
            # Indexes and keys are no fields; the values of a map may be.
            self._bound[node.variables[0]] = NOTHING
            self._bound[node.variables[1]] = either((element, source.below(Segment.KEY)))
        read = [self._notes.read(self.read(one)) for one in (node.test, node.result) if one]
        self._bound = before
        return source if node.result is None else read[-1]._replace(spread=True)

    def _bind(self, node: Bind) -> FieldValues:
        before = dict(self._bound)
        self._bound[node.variable] = self.read(node.value)
        found = self.read(node.body)
        self._bound = before
        return found

    _READERS: ClassVar[Mapping[type, Callable[..., FieldValues]]] = {
        Literal: _literal,
        Ident: _ident,
        Select: _select,
        Call: _call,
        Loop: _loop,
        Bind: _bind,
        ListLiteral: lambda self, node: either(map(self.read, node.elements)),
    }


_MEANT: Mapping[str, Callable[[FieldValues], FieldValues]] = {
    "startsWith": lambda reading: reading._replace(
        values=tuple(one for one in reading.values if one not in {"[", "{"})
    ),
    "endsWith": endings,
}
"""The meaning of the string arguments of some functions for the strings that they test."""


def cel_references(policy: Policy, system: System) -> Iterator[FieldReference]:
    """Yield the fields that a policy of Kyverno's CEL kinds refers to."""
    env = kyverno_environment(policy.kind, system.clock, system.entropy, release=system.release)
    yield from _references(policy, env)


def native_references(policy: Policy, _: System) -> Iterator[FieldReference]:
    """Yield the fields that an admission policy of Kubernetes refers to."""
    yield from _references(policy, kubernetes_environment(params=True, mutates=True))


def _references(policy: Policy, env: Environment) -> Iterator[FieldReference]:
    notes = ReferenceCollector()
    constraints = policy.cel.match_constraints or MatchConstraints(())
    for rule in (*constraints.resource_rules, *constraints.exclude_resource_rules):
        notes.note(Subject.KIND, (), _kinds_of(rule))
        notes.note(Subject.REQUEST, ("operation",), rule.operations)
        if rule.resource_names:
            notes.note(Subject.OBJECT, ("metadata", "name"), rule.resource_names)
    read_selector(constraints.object_selector, Subject.OBJECT, notes)
    read_selector(constraints.namespace_selector, Subject.NAMESPACE, notes)
    for one in policy.cel.match_image_references:
        notes.note(Subject.WORLD, ("images",))
        for path in IMAGE_PATHS:
            notes.note(Subject.OBJECT, path, (one.glob,) if one.glob else ())
    # Messages and annotations do not affect results; variables come first.
    placed = sorted(expressions(policy.cel), key=lambda one: not one.variable)
    read_texts(
        [(name, text) for path, text, name in placed if path[-1] == "expression"], env, notes
    )
    yield from notes.mentions()


def _kinds_of(rule: ResourceRule) -> Iterator[str]:
    groups = rule.api_groups or ("*",)
    for resource in rule.resources or ("*",):
        name, _, part = resource.partition("/")
        # If the kind is known in one of the groups, the others are skipped.
        known = {one: kind for one in groups if (kind := kind_of_plural(one, name))}
        for group in known or groups:
            kind = "*" if name == "*" else known.get(group) or guessed_kind(name)
            for version in rule.api_versions or ("*",):
                yield "/".join((group, version, kind, *((part,) if part else ())))
