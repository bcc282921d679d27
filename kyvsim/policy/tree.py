"""Common nodes of policies: immutable, typed, each with its path in the document.

`read.py` creates them from a document that a schema has validated; `visit.py` traverses them.
Nodes of rules are in `rule.py`, those of rare sections in modules named after them. A
missing field is None, or "" for a string and () for a list if Kyverno does not distinguish
missing and empty values. Kubernetes' own types (selectors, objects to generate) are plain
data.

upstream: api/kyverno/v1, api/kyverno/v2
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

from kyvsim.kubernetes.objects import Json, Path
from kyvsim.kubernetes.wildcard import Alternative, parse_alternatives


class Condition(NamedTuple):
    """One condition: compares its key with its value."""

    path: Path
    key: Json
    """The left side, a string with variables or any other data; None if it is missing."""
    operator: str
    value: Json
    message: str


class ConditionGroup(NamedTuple):
    """Combined conditions: at least one of `any`, and each of `all` must hold."""

    path: Path
    any: tuple[Condition, ...] | None
    """None if the field is missing; an empty list never holds."""
    all: tuple[Condition, ...] | None
    is_bare: bool = False
    """Whether it contains a bare condition of a list, and nothing else."""

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """All conditions, in the order in which they are evaluated."""
        return (*(self.any or ()), *(self.all or ()))


class Conditions(NamedTuple):
    """A block of conditions: groups that must all hold.

    A list of bare conditions, the oldest form, is a group for each of them.
    """

    path: Path
    groups: tuple[ConditionGroup, ...]
    is_list: bool = False
    """Whether the block is a list, of groups or of bare conditions."""
    problem: str = ""
    """The reason why the data cannot be conditions; then there are no groups."""

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """All conditions, in the order in which they are evaluated."""
        return tuple(one for group in self.groups for one in group.conditions)

    @property
    def effective(self) -> tuple[ConditionGroup, ...]:
        """The groups that are evaluated: bare conditions are ignored beside others."""
        return tuple(one for one in self.groups if not one.is_bare) or self.groups

    @property
    def never_hold(self) -> bool:
        """Whether a group has an empty `any`."""
        return not self.is_list and any(group.any == () for group in self.groups)


class Subject(NamedTuple):
    """A user, group or service account."""

    path: Path
    kind: str
    name: str
    namespace: str
    data: Mapping[str, Json]
    """The whole subject as written, for messages."""


class ResourceFilter(NamedTuple):
    """One filter of a match or exclude block; a request must match all of its criteria."""

    path: Path
    resource_fields: frozenset[str] = frozenset()
    """The fields below `resources`, including those with empty lists: upstream distinguishes these
    from missing ones when it compares filters."""
    operations: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    name: str = ""
    names: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()
    annotations: Mapping[str, str] | None = None
    selector: Mapping[str, Json] | None = None
    namespace_selector: Mapping[str, Json] | None = None
    roles: tuple[str, ...] | None = None
    cluster_roles: tuple[str, ...] | None = None
    subjects: tuple[Subject, ...] | None = None

    @property
    def all_names(self) -> tuple[str, ...]:
        """The names of objects, from all fields."""
        return (*self.names, self.name) if self.name else self.names

    @property
    def has_resources(self) -> bool:
        """Whether there is a field below `resources`, even an empty list."""
        return bool(self.resource_fields)

    @property
    def has_users(self) -> bool:
        """Whether the filter has a field about the user, even an empty list."""
        return any(one is not None for one in (self.roles, self.cluster_roles, self.subjects))

    @property
    def names_users(self) -> bool:
        """Whether the filter names users, groups, service accounts or roles."""
        return bool(self.roles or self.cluster_roles or self.subjects)

    @property
    def is_empty(self) -> bool:
        """Whether the filter has no field."""
        return not (self.has_resources or self.has_users)


class MatchBlock(NamedTuple):
    """A match or exclude block: `any` or `all` filters, or a single filter."""

    path: Path
    any: tuple[ResourceFilter, ...] | None
    all: tuple[ResourceFilter, ...] | None
    own: ResourceFilter
    """The fields of the block itself, the legacy form."""

    @property
    def filters(self) -> tuple[ResourceFilter, ...]:
        """All filters: any, all, and the block itself."""
        return (*(self.any or ()), *(self.all or ()), self.own)

    @property
    def effective(self) -> tuple[ResourceFilter, ...]:
        """The filters that are evaluated."""
        return self.any or self.all or (self.own,)

    @property
    def is_empty(self) -> bool:
        """Whether the block has no field."""
        return self.any is None and self.all is None and self.own.is_empty


NO_MATCH = MatchBlock((), None, None, ResourceFilter(()))
"""A missing match block: it matches nothing."""


# Patterns of validate rules, and strategic merge patches, which also have anchors.


class PatternEntry(NamedTuple):
    """One key of a pattern's map, with its value."""

    path: Path
    text: str
    """The key as written, with its anchor."""
    anchor: str | None
    """The sign of the anchor, "" for a condition `(key)`; None for a key without anchor."""
    key: str
    """The key without its anchor."""
    value: "PatternNode"


class PatternMap(NamedTuple):
    """A map of a pattern, in the written order."""

    path: Path
    data: Mapping[str, Json]
    """As written, like the `data` of lists and leaves."""
    entries: tuple[PatternEntry, ...]
    anchors: frozenset[str]
    """The signs of all anchors in it, at any depth."""


class PatternList(NamedTuple):
    """A list of a pattern."""

    path: Path
    data: Sequence[Json]
    items: tuple["PatternNode", ...]
    anchors: frozenset[str]
    """The signs of all anchors in it, at any depth."""


class PatternLeaf(NamedTuple):
    """A scalar of a pattern: a string may contain operators and wildcards."""

    path: Path
    data: Json

    @property
    def anchors(self) -> frozenset[str]:
        """No signs: a scalar has no anchors."""
        return frozenset()

    @property
    def alternatives(self) -> tuple[Alternative, ...]:
        """The alternatives of a string, each with comparisons and ranges; () for other scalars."""
        return parse_alternatives(self.data) if isinstance(self.data, str) else ()


PatternNode: TypeAlias = PatternMap | PatternList | PatternLeaf


class Pattern(NamedTuple):
    """A whole pattern or strategic merge patch."""

    path: Path
    data: Json
    """As written; its variables are replaced."""
    root: PatternNode
    under: Path = ()
    """The fields to which autogen moved the value at the path."""


class VariableEntry(NamedTuple):
    """A computed context entry: a value, a query, or a query on a value."""

    path: Path
    name: str
    value: Json
    default: Json
    jmes_path: str


class ConfigMapEntry(NamedTuple):
    """A context entry with a ConfigMap."""

    path: Path
    name: str
    config_map_name: str
    config_map_namespace: str


class ApiCallEntry(NamedTuple):
    """A context entry with the response to a call of the Kubernetes API, or of a service."""

    path: Path
    name: str
    url_path: str
    service: Mapping[str, Json] | None
    default: Json
    jmes_path: str
    call: Mapping[str, Json]
    """The whole call as written, whose variables are replaced."""


class GlobalReferenceEntry(NamedTuple):
    """A context entry that refers to a GlobalContextEntry."""

    path: Path
    name: str
    reference: str
    jmes_path: str


class ImageRegistryEntry(NamedTuple):
    """A context entry with a registry's data of an image."""

    path: Path
    name: str
    reference: str
    jmes_path: str


ContextEntry: TypeAlias = (
    VariableEntry | ConfigMapEntry | ApiCallEntry | GlobalReferenceEntry | ImageRegistryEntry
)


class NamedExpression(NamedTuple):
    """A CEL expression with a name: a match condition, a variable, an annotation."""

    path: Path
    name: str
    expression: str


class Deny(NamedTuple):
    """A `deny` block."""

    path: Path
    conditions: Conditions | None


class PodSecurityExclusion(NamedTuple):
    """A control that a Pod Security rule excludes."""

    path: Path
    control_name: str
    images: tuple[str, ...]
    restricted_field: str
    values: tuple[str, ...]


class PodSecurity(NamedTuple):
    """A check of Pod Security Standards."""

    path: Path
    level: str
    version: str
    exclude: tuple[PodSecurityExclusion, ...]
