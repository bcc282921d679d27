"""A policy with parsed CEL expressions, the subject of CEL checks."""

from collections.abc import Iterator
from typing import NamedTuple

from kyvsim.cel.environment import Environment
from kyvsim.cel.nodes import (
    Bind,
    Ident,
    Literal,
    Loop,
    Node,
    Select,
    StructLiteral,
    children,
    dotted_name,
)
from kyvsim.cel.parser import ExpressionSyntaxError, parse
from kyvsim.engine.compile.compiled import warn
from kyvsim.kubernetes.discovery import kind_of_plural
from kyvsim.kubernetes.objects import Path
from kyvsim.linting.fields import of_kind
from kyvsim.model.diagnostic import Diagnostic, Instead
from kyvsim.model.policy import Policy
from kyvsim.model.values import KindKey
from kyvsim.policy.cel_policy import CelPolicyNode, expressions
from kyvsim.schema.merge_types import NoTypesError, Type, find_type, resolve

_NAMES = frozenset({"object", "oldObject", "request", "variables"})
VALIDATING = frozenset({"ValidatingPolicy", "ValidatingAdmissionPolicy"})
"""Kinds that only validate; for others, validations are preconditions of other effects."""
MUTATING = frozenset({"MutatingPolicy", "MutatingAdmissionPolicy"})
"""Kinds that mutate objects."""


class ParsedExpression(NamedTuple):
    """One expression of a policy."""

    path: Path
    text: str
    root: Node
    parts: tuple[Node, ...] = ()
    """All nodes of its tree, if they were listed before: many checks traverse them."""

    @property
    def list_name(self) -> str:
        """The field of the specification that contains it, such as `validations`."""
        return str(self.path[1])

    @property
    def is_test(self) -> bool:
        """Whether it is the test of a validation, not its message."""
        return self.list_name == "validations" and self.path[-1] == "expression"

    def is_mutation(self, way: str) -> bool:
        """Return whether it is a mutation of a type, such as `jsonPatch`."""
        return self.list_name == "mutations" and self.path[-2] == way

    def nodes(self) -> tuple[Node, ...]:
        """Return all nodes of its tree."""
        if self.parts:
            return self.parts
        pending, found = [self.root], []
        while pending:
            node = pending.pop()
            found.append(node)
            pending += children(node)
        return tuple(found)


class CelPolicy(NamedTuple):
    """A policy whose expressions compile, with their syntax trees."""

    policy: Policy
    env: Environment
    expressions: tuple[ParsedExpression, ...]
    """All expressions, or none if they rebind the names that checks use."""
    derivable: bool = False
    """Whether autogen derives variants for Pod controllers by rewriting the text of this kind."""
    is_derived: bool = False
    """Whether autogen derives variants for Pod controllers from it."""
    extracts: bool = False
    """Whether custom workloads can be among its controllers."""
    is_moved: bool = False
    """The same for a MutatingPolicy, whose variants are derived differently."""
    is_about_pods: bool = False
    """Whether its constraints allow autogen."""
    forbidden: tuple[tuple[str, str], ...] = ()
    """The variables that it must not read but does, each with the reason."""

    @property
    def spec(self) -> CelPolicyNode:
        """The policy's specification."""
        return self.policy.cel

    @property
    def kind(self) -> str:
        """The policy's kind, without `Namespaced`."""
        return self.policy.kind.removeprefix("Namespaced")

    @property
    def validates(self) -> bool:
        """Whether the policy has validations that objects or images must pass."""
        return self.kind in {*VALIDATING, "ImageValidatingPolicy"}

    def variable(self, node: Node) -> ParsedExpression | None:
        """Return the expression of the variable that a node reads; None for other nodes."""
        if not isinstance(node, Select) or not is_name(node.operand, "variables"):
            return None
        paths = {(*one.path, "expression") for one in self.spec.variables if one.name == node.field}
        return next((one for one in self.expressions if one.path in paths), None)

    def warn(
        self, code: str, message: str, path: Path, *, instead: Instead | None = None
    ) -> Diagnostic:
        """Return a warning about the node at `path` of the policy's document.

        `instead` is a part of the expression there, as `unparse` writes it, and what is meant.
        """
        found = warn(self.policy.document, code, message, path, instead=instead)
        if instead is None or found.fix is not None:
            return found
        old, new = (one.replace('"', "'") for one in instead)
        return warn(self.policy.document, code, message, path, instead=(old, new))

    def nodes(self) -> Iterator[Node]:
        """Yield all nodes of all expressions."""
        return (node for one in self.expressions for node in one.nodes())

    def mentions(self, word: str) -> bool:
        """Return whether an expression contains a word as a field or as a string."""
        return any(
            (isinstance(node, Select) and node.field == word)
            or (isinstance(node, Literal) and node.value == word)
            or (isinstance(node, StructLiteral) and word in {one.name for one in node.fields})
            for node in self.nodes()
        )

    def reads(self, name: str) -> bool:
        """Return whether the text of an expression contains the name of a variable."""
        return any(name in one.text for one in self.expressions)

    def only_reads_fields(self, name: str) -> bool:
        """Return whether all uses of a variable in expressions only read its fields."""
        named = sum(is_name(node, name) for node in self.nodes())
        return named == sum(reads_field(node, name) for node in self.nodes())

    def tests_presence(self, name: str) -> bool:
        """Return whether an expression tests a dotted name with `has`."""
        return any(
            isinstance(node, Select)
            and node.test
            and f"{dotted_name(node.operand)}.{node.field}" == name
            for node in self.nodes()
        )


def expressions_of(spec: CelPolicyNode, env: Environment) -> tuple[ParsedExpression, ...]:
    """Return the expressions of a specification, in order.

    Returns none if one of them rebinds a name that checks use.
    """
    try:
        every = tuple(
            ParsedExpression(path, text, parse(text, env.macros))
            for path, text, _ in expressions(spec)
            # These have other variables.
            if text.strip() and path[1] != "matchImageReferences"
        )
    except ExpressionSyntaxError:
        return ()
    every = tuple(one._replace(parts=one.nodes()) for one in every)
    nodes = [node for one in every for node in one.parts]
    bound = {name for node in nodes if isinstance(node, Loop) for name in node.variables}
    bound |= {node.variable for node in nodes if isinstance(node, Bind)}
    return every if bound.isdisjoint(_NAMES) else ()


def selected(node: Node) -> str:
    """Return the dotted name of a plain selection; "" for other nodes."""
    return dotted_name(node) if isinstance(node, Select) else ""


def is_name(node: Node, name: str) -> bool:
    """Return whether a node is an identifier with this name."""
    return isinstance(node, Ident) and node.name == name


def reads_field(node: Node, name: str) -> bool:
    """Return whether a node reads a field of a variable, which is an error if it is missing."""
    if not isinstance(node, Select) or node.test or node.optional:
        return False
    return is_name(node.operand, name)


def matched_kinds(spec: CelPolicyNode, apart: frozenset[str] = frozenset()) -> tuple[KindKey, ...]:
    """Return all kinds that a policy matches; () if not all are known.

    They are known if they are Kubernetes' own and named without wildcards. `apart` are names of
    resources to ignore.
    """
    named = [
        (group, version, name)
        for rule in spec.resource_rules
        for group in rule.api_groups or ("*",)
        for version in rule.api_versions or ("*",)
        for name in rule.resources or ("*",)
        if name not in apart
    ]
    if any("*" in text or "/" in text for one in named for text in one):
        return ()
    found = tuple(
        KindKey(group, version, kind_of_plural(group, name)) for group, version, name in named
    )
    return found if all(one.kind for one in found) else ()


def changed_types(policy: CelPolicy) -> tuple[Type, ...]:
    """Return the types of all objects that a policy mutates; () if some are unknown."""
    if policy.kind not in MUTATING or policy.spec.target_match_constraints:
        return ()
    return matched_types(policy)


def matched_types(policy: CelPolicy) -> tuple[Type, ...]:
    """Return the types of all objects that a policy matches; () if some are unknown."""
    found = []
    for group, version, kind in matched_kinds(policy.spec):
        try:
            one = find_type(f"{group}/{version}".lstrip("/"), kind)
        except NoTypesError:
            return ()
        if one is None:
            return ()
        found.append(of_kind(one, kind))
    return tuple(found)


def field_of(found: Type, name: str) -> Type | None:
    """Return the type of a field of an object or map; None if it cannot have the field."""
    if found.mapping is None:
        return None
    ref = found.mapping.fields.get(name, found.mapping.others)
    return None if ref is None else resolve(ref)


def element_of(found: Type) -> Type | None:
    """Return the type of the elements of a list."""
    return None if found.sequence is None else resolve(found.sequence.element)


def is_atomic(found: Type) -> bool:
    """Return whether a type is only an atomic list or map."""
    sequence, mapping = found.sequence, found.mapping
    if found.scalar or (sequence and mapping):
        return False
    return bool((sequence and sequence.keys is None) or (mapping and mapping.atomic))


def field_names(found: Type) -> Iterator[str]:
    """Yield the named fields of an object type."""
    if found.mapping is not None:
        yield from found.mapping.fields
