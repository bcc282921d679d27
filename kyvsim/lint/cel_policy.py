"""A policy with its CEL expressions parsed, as checks of CEL policies read it."""

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
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.policy import Policy
from kyvsim.model.values import KindKey
from kyvsim.policy.cel_policy import CelPolicyNode, expressions
from kyvsim.schema.merge_types import NoTypesError, Type, find_type, resolve

_NAMES = frozenset({"object", "oldObject", "request", "variables"})
VALIDATING = frozenset({"ValidatingPolicy", "ValidatingAdmissionPolicy"})
"""Kinds that validate and do nothing else; others need a validation to do what else they do."""
MUTATING = frozenset({"MutatingPolicy", "MutatingAdmissionPolicy"})
"""Kinds that change objects."""


class ParsedExpression(NamedTuple):
    """One expression of a policy."""

    path: Path
    text: str
    root: Node

    @property
    def list_name(self) -> str:
        """The field of the specification that contains it, such as `validations`."""
        return str(self.path[1])

    @property
    def is_test(self) -> bool:
        """Whether it decides a validation, and is not its message."""
        return self.list_name == "validations" and self.path[-1] == "expression"

    def is_mutation(self, way: str) -> bool:
        """Return whether it is a mutation made in some way, such as `jsonPatch`."""
        return self.list_name == "mutations" and self.path[-2] == way

    def nodes(self) -> Iterator[Node]:
        """Yield all nodes of its tree."""
        pending = [self.root]
        while pending:
            node = pending.pop()
            yield node
            pending += children(node)


class CelPolicy(NamedTuple):
    """A policy whose expressions compile, with their syntax trees."""

    policy: Policy
    env: Environment
    expressions: tuple[ParsedExpression, ...]
    """All of them, or none where they cannot be judged by their names."""
    derivable: bool = False
    """Whether policies of its kind have variants for the controllers of Pods, of its own words."""
    is_derived: bool = False
    """Whether variants for the controllers of Pods are derived from it."""
    is_moved: bool = False
    """The same of a MutatingPolicy, whose variants are made in another way."""
    is_about_pods: bool = False
    """Whether it is of the form that variants can be derived from."""

    @property
    def spec(self) -> CelPolicyNode:
        """The policy's specification."""
        return self.policy.cel

    @property
    def kind(self) -> str:
        """The policy's kind, without `Namespaced`."""
        return self.policy.kind.removeprefix("Namespaced")

    def warn(self, code: str, message: str, path: Path) -> Diagnostic:
        """Return a warning about the node at `path` of the policy's document."""
        return warn(self.policy.document, code, message, path)

    def nodes(self) -> Iterator[Node]:
        """Yield all nodes of all expressions."""
        return (node for one in self.expressions for node in one.nodes())

    def mentions(self, word: str) -> bool:
        """Return whether some expression has a word as a field or as a text."""
        return any(
            (isinstance(node, Select) and node.field == word)
            or (isinstance(node, Literal) and node.value == word)
            or (isinstance(node, StructLiteral) and word in {one.name for one in node.fields})
            for node in self.nodes()
        )

    def only_reads_fields(self, name: str) -> bool:
        """Return whether no expression does more with a variable than to read its fields."""
        named = sum(is_name(node, name) for node in self.nodes())
        return named == sum(reads_field(node, name) for node in self.nodes())

    def tests_presence(self, name: str) -> bool:
        """Return whether some expression tests with `has` for a dotted name."""
        return any(
            isinstance(node, Select)
            and node.test
            and f"{dotted_name(node.operand)}.{node.field}" == name
            for node in self.nodes()
        )


def expressions_of(spec: CelPolicyNode, env: Environment) -> tuple[ParsedExpression, ...]:
    """Return the expressions of a specification, in the order of the text.

    There are none where one of them gives a name that advice goes by another meaning.
    """
    try:
        every = tuple(
            ParsedExpression(path, text, parse(text, env.macros))
            for path, text, _ in expressions(spec)
            # These know other names.
            if text.strip() and path[1] != "matchImageReferences"
        )
    except ExpressionSyntaxError:
        return ()
    nodes = [node for one in every for node in one.nodes()]
    bound = {name for node in nodes if isinstance(node, Loop) for name in node.variables}
    bound |= {node.variable for node in nodes if isinstance(node, Bind)}
    return every if bound.isdisjoint(_NAMES) else ()


def selected(node: Node) -> str:
    """Return the dotted name of a plain selection, "" for everything else."""
    return dotted_name(node) if isinstance(node, Select) else ""


def is_name(node: Node, name: str) -> bool:
    """Return whether a node is the plain name of a variable."""
    return isinstance(node, Ident) and node.name == name


def reads_field(node: Node, name: str) -> bool:
    """Return whether a node is a plain field of a variable, an error where there is none."""
    if not isinstance(node, Select) or node.test or node.optional:
        return False
    return is_name(node.operand, name)


def matched_kinds(spec: CelPolicyNode, apart: frozenset[str] = frozenset()) -> tuple[KindKey, ...]:
    """Return all kinds whose objects a policy looks at; () where they are not all known.

    That is where they are Kubernetes' own and named without wildcards. `apart` are names of
    resources that do not matter.
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
    """Return the types of all objects that a policy changes; () where some are unknown."""
    if policy.kind not in MUTATING or policy.spec.target_match_constraints:
        return ()
    found = []
    for group, version, kind in matched_kinds(policy.spec):
        try:
            one = find_type(f"{group}/{version}".lstrip("/"), kind)
        except NoTypesError:
            return ()
        if one is None:
            return ()
        found.append(one)
    return tuple(found)


def field_of(found: Type, name: str) -> Type | None:
    """Return the type of a field of an object or map, None where it may have no such field."""
    if found.mapping is None:
        return None
    ref = found.mapping.fields.get(name, found.mapping.others)
    return None if ref is None else resolve(ref)


def element_of(found: Type) -> Type | None:
    """Return the type of the elements of a list."""
    return None if found.sequence is None else resolve(found.sequence.element)


def is_atomic(found: Type) -> bool:
    """Return whether a list or map is nothing but one that is replaced as a whole."""
    sequence, mapping = found.sequence, found.mapping
    if found.scalar or (sequence and mapping):
        return False
    return bool((sequence and sequence.keys is None) or (mapping and mapping.atomic))


def field_names(found: Type) -> Iterator[str]:
    """Yield the fields that an object can have by name."""
    if found.mapping is not None:
        yield from found.mapping.fields
