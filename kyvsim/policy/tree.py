"""Nodes that several parts of policies have: immutable, typed, each with its path in the document.

`read.py` makes them from a document whose shape a schema has checked; `visit.py` walks them. Those
of rules are in `rule.py`, those of sections that few rules have in modules named after them. A
field that is not in the document is None, or "" for a text and () for a list where Kyverno takes
an absent one for an empty one. Kubernetes' own types (selectors, objects to generate) stay plain
data.

upstream: api/kyverno/v1, api/kyverno/v2
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

from kyvsim.kubernetes.objects import Json, Path
from kyvsim.kubernetes.wildcard import Alternative, parse_alternatives


class Condition(NamedTuple):
    """One condition: its key compared with its value."""

    path: Path
    key: Json
    """The left side, a text with variables or any other data; None where it is missing."""
    operator: str
    value: Json
    message: str


class ConditionGroup(NamedTuple):
    """Conditions that are combined: one of `any`, and every one of `all`."""

    path: Path
    any: tuple[Condition, ...] | None
    """None where the field is missing; an empty list never holds."""
    all: tuple[Condition, ...] | None
    is_bare: bool = False
    """Whether it stands for a bare condition of a list, which is all of it."""

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """All conditions, in the order in which they are evaluated."""
        return (*(self.any or ()), *(self.all or ()))


class Conditions(NamedTuple):
    """A block of conditions: groups that all have to hold.

    A list of bare conditions, the oldest form, is a group for each of them.
    """

    path: Path
    groups: tuple[ConditionGroup, ...]
    is_list: bool = False
    """Whether the block is a list, of groups or of bare conditions."""
    problem: str = ""
    """Why the data cannot be conditions at all; then there are no groups."""

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """All conditions, in the order in which they are evaluated."""
        return tuple(one for group in self.groups for one in group.conditions)

    @property
    def effective(self) -> tuple[ConditionGroup, ...]:
        """The groups that are evaluated: beside others, bare conditions count as nothing."""
        return tuple(one for one in self.groups if not one.is_bare) or self.groups

    @property
    def never_hold(self) -> bool:
        """Whether a group lists alternatives, and has none."""
        return not self.is_list and any(group.any == () for group in self.groups)


class Subject(NamedTuple):
    """A user, group or service account."""

    path: Path
    kind: str
    name: str
    namespace: str
    data: Mapping[str, Json]
    """The whole subject as it is written, to be shown."""


class ResourceFilter(NamedTuple):
    """One filter of a match or exclude block; a request has to meet all of its criteria."""

    path: Path
    resource_fields: frozenset[str] = frozenset()
    """The fields below `resources`, also those with empty lists: upstream distinguishes these from
    missing ones where it compares filters."""
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
        """The names of objects, whichever field has them."""
        return (*self.names, self.name) if self.name else self.names

    @property
    def has_resources(self) -> bool:
        """Whether there is a field below `resources`, be it an empty list."""
        return bool(self.resource_fields)

    @property
    def has_users(self) -> bool:
        """Whether the filter has a field about the user, be it an empty list."""
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
    """A match or exclude block: `any` or `all` filters, or one filter of its own."""

    path: Path
    any: tuple[ResourceFilter, ...] | None
    all: tuple[ResourceFilter, ...] | None
    own: ResourceFilter
    """The fields of the block itself, the oldest form."""

    @property
    def filters(self) -> tuple[ResourceFilter, ...]:
        """All filters: any, all, then the block itself."""
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
"""A match block that is not there: nothing matches it."""


# Patterns: what an object has to look like, and strategic merge patches, which have anchors, too.


class PatternEntry(NamedTuple):
    """One key of a pattern's map, with its value."""

    path: Path
    text: str
    """The key as it is written, with its anchor."""
    anchor: str | None
    """The sign of the anchor, "" for a condition `(key)`; None for a plain key."""
    key: str
    """The key without its anchor."""
    value: "PatternNode"


class PatternMap(NamedTuple):
    """A map of a pattern, in the order in which it is written."""

    path: Path
    data: Mapping[str, Json]
    """As it is written; so are the `data` of lists and leaves."""
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
    """A scalar of a pattern: a text may have operators and wildcards."""

    path: Path
    data: Json

    @property
    def anchors(self) -> frozenset[str]:
        """No signs: a scalar has no anchors."""
        return frozenset()

    @property
    def alternatives(self) -> tuple[Alternative, ...]:
        """The alternatives of a text, each of comparisons and ranges; () for other scalars."""
        return parse_alternatives(self.data) if isinstance(self.data, str) else ()


PatternNode: TypeAlias = PatternMap | PatternList | PatternLeaf


class Pattern(NamedTuple):
    """A whole pattern or strategic merge patch."""

    path: Path
    data: Json
    """As it is written, for filling in its variables."""
    root: PatternNode
    under: Path = ()
    """The fields under which autogen put what is written at the path."""


class VariableEntry(NamedTuple):
    """A context entry that is computed: a value, a query, or a query on a value."""

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
    """The whole call as it is written, for filling in its variables."""


class GlobalReferenceEntry(NamedTuple):
    """A context entry that refers to a GlobalContextEntry."""

    path: Path
    name: str
    reference: str
    jmes_path: str


class ImageRegistryEntry(NamedTuple):
    """A context entry with what a registry knows about an image."""

    path: Path
    name: str
    reference: str
    jmes_path: str


ContextEntry: TypeAlias = (
    VariableEntry | ConfigMapEntry | ApiCallEntry | GlobalReferenceEntry | ImageRegistryEntry
)


class Deny(NamedTuple):
    """A `deny` block."""

    path: Path
    conditions: Conditions | None


class PodSecurityExclusion(NamedTuple):
    """A control that a Pod security rule leaves out."""

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
