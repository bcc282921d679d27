"""Nodes of policies: immutable, typed, each with its path in the document.

`read.py` makes them from a document whose shape a schema has checked; `visit.py` walks them. A
field that is not in the document is None, or "" for a text and () for a list where Kyverno takes
an absent one for an empty one. Kubernetes' own types (selectors, objects to generate) stay plain
data.

upstream: api/kyverno/v1, api/kyverno/v2
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from kyvsim.kubernetes.objects import Json, Path
from kyvsim.kubernetes.wildcard import Alternative, parse_alternatives

# Conditions: preconditions, conditions of `deny`, of attestations, exceptions and cleanup policies.


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


# Match and exclude blocks.


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


class JsonPatch(NamedTuple):
    """A JSON patch: YAML or JSON in a text, which may have variables."""

    path: Path
    text: str


# Context entries.


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


# Attestors: who has to sign images and manifests.


class Rekor(NamedTuple):
    """The transparency log that has to know a signature."""

    path: Path
    url: str
    pubkey: str
    ignore_tlog: bool


class CTLog(NamedTuple):
    """The log of certificates, and who attests times."""

    path: Path
    pubkey: str
    ignore_sct: bool
    tsa_cert_chain: str


class Keys(NamedTuple):
    """Public keys, one of which has signed."""

    path: Path
    public_keys: str
    kms: str
    secret: Mapping[str, Json] | None
    signature_algorithm: str
    rekor: Rekor | None = None
    ctlog: CTLog | None = None


class Certificates(NamedTuple):
    """A certificate that has signed, or its chain."""

    path: Path
    cert: str
    cert_chain: str
    rekor: Rekor | None = None
    ctlog: CTLog | None = None


class Keyless(NamedTuple):
    """An identity that has signed."""

    path: Path
    issuer: str
    issuer_reg_exp: str
    subject: str
    subject_reg_exp: str
    roots: str
    additional_extensions: Mapping[str, str] | None = None
    rekor: Rekor | None = None
    ctlog: CTLog | None = None


class Attestor(NamedTuple):
    """Someone who has to sign; one without any field is anyone."""

    path: Path
    keys: Keys | None = None
    certificates: Certificates | None = None
    keyless: Keyless | None = None
    attestor: "AttestorSet | None" = None
    """Attestors of which these are a part."""
    annotations: Mapping[str, str] | None = None
    repository: str = ""


class AttestorSet(NamedTuple):
    """Attestors, some or all of whom have to sign."""

    path: Path
    required: int | None
    """How many have to sign, the `count` of the set; None for all."""
    entries: tuple[Attestor, ...]


# Validation.


class FailureOverride(NamedTuple):
    """A failure action for some namespaces."""

    path: Path
    action: str
    namespaces: tuple[str, ...] | None
    """Patterns for names of namespaces; None where they do not count."""
    selector: Mapping[str, Json] | None


class Deny(NamedTuple):
    """A `deny` block."""

    path: Path
    conditions: Conditions | None


class ForEachValidation(NamedTuple):
    """A loop of a validate rule: each element of a list is checked."""

    path: Path
    list: str
    element_scope: bool | None
    context: tuple[ContextEntry, ...]
    preconditions: Conditions | None
    pattern: Pattern | None
    any_pattern: tuple[Pattern, ...] | None
    deny: Deny | None
    foreach: tuple["ForEachValidation", ...] | None
    invalid_any_pattern: Json
    """What `anyPattern` has if that is no list; None where it is one, or missing."""


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


class CelExpression(NamedTuple):
    """An expression in CEL with what a failure says."""

    path: Path
    expression: str
    message: str
    message_expression: str
    reason: str


class NamedExpression(NamedTuple):
    """An expression in CEL with a name: a match condition, a variable, an annotation."""

    path: Path
    name: str
    expression: str


class ParamKind(NamedTuple):
    """The kind of the parameters of expressions in CEL."""

    path: Path
    api_version: str
    kind: str


class ParamRef(NamedTuple):
    """Which objects are parameters of expressions in CEL."""

    path: Path
    name: str
    namespace: str
    selector: Mapping[str, Json] | None
    parameter_not_found_action: str


class CelValidation(NamedTuple):
    """The `cel` block of a validate rule."""

    path: Path
    generate: bool | None
    expressions: tuple[CelExpression, ...]
    audit_annotations: tuple[NamedExpression, ...]
    variables: tuple[NamedExpression, ...]
    param_kind: ParamKind | None
    param_ref: ParamRef | None


class ManifestObject(NamedTuple):
    """Objects of which a check of manifests leaves out fields; "" and `*` mean any."""

    path: Path
    group: str
    version: str
    kind: str
    namespace: str
    name: str


class IgnoredFields(NamedTuple):
    """Fields that a check of manifests leaves out, in some objects or in all."""

    path: Path
    objects: tuple[ManifestObject, ...]
    fields: tuple[str, ...]


class Manifests(NamedTuple):
    """A check that objects equal signed manifests."""

    path: Path
    attestors: tuple[AttestorSet, ...]
    annotation_domain: str
    ignore_fields: tuple[IgnoredFields, ...]
    repository: str


class Validate(NamedTuple):
    """The `validate` section of a rule."""

    path: Path
    message: str
    failure_action: str
    overrides: tuple[FailureOverride, ...]
    allow_existing_violations: bool | None
    pattern: Pattern | None
    any_pattern: tuple[Pattern, ...] | None
    deny: Deny | None
    foreach: tuple[ForEachValidation, ...] | None
    pod_security: PodSecurity | None
    manifests: Manifests | None
    cel: CelValidation | None
    assertion: Json
    invalid_any_pattern: Json
    """What `anyPattern` has if that is no list; None where it is one, or missing."""


# Mutation.


class ForEachMutation(NamedTuple):
    """A loop of a mutate rule: each element of a list brings a patch."""

    path: Path
    list: str
    order: str
    context: tuple[ContextEntry, ...]
    preconditions: Conditions | None
    patch_strategic_merge: Pattern | None
    patches_json6902: JsonPatch | None
    foreach: tuple["ForEachMutation", ...] | None


class MutateTarget(NamedTuple):
    """Existing objects that a rule changes; texts may have variables."""

    path: Path
    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str
    selector: Mapping[str, Json] | None
    context: tuple[ContextEntry, ...]
    preconditions: Conditions | None

    @property
    def selection(self) -> dict[str, Json]:
        """The fields that select objects, for filling in their variables."""
        fields = {
            "apiVersion": self.api_version,
            "kind": self.kind,
            "namespace": self.namespace,
            "name": self.name,
            "selector": self.selector,
        }
        return {field: value for field, value in fields.items() if value}


class Mutate(NamedTuple):
    """The `mutate` section of a rule."""

    path: Path
    patch_strategic_merge: Pattern | None
    patches_json6902: JsonPatch | None
    foreach: tuple[ForEachMutation, ...] | None
    targets: tuple[MutateTarget, ...] | None
    mutate_existing_on_policy_update: bool | None


# Generation.


class Clone(NamedTuple):
    """The object that a generate rule copies."""

    path: Path
    name: str
    namespace: str


class CloneList(NamedTuple):
    """The objects that a generate rule copies together."""

    path: Path
    kinds: tuple[str, ...] | None
    namespace: str
    selector: Mapping[str, Json] | None


class GenerateTarget(NamedTuple):
    """What a generate rule, or one of its loops, makes; texts may have variables."""

    path: Path
    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str
    data: Json
    clone: Clone | None
    clone_list: CloneList | None

    @property
    def fields(self) -> dict[str, Json]:
        """The fields that are there, for filling in their variables."""
        clone, clone_list = self.clone, self.clone_list
        fields = {
            "apiVersion": self.api_version or None,
            "kind": self.kind or None,
            "namespace": self.namespace or None,
            "name": self.name or None,
            "data": self.data,
            "clone": clone and {"name": clone.name, "namespace": clone.namespace},
            "cloneList": clone_list
            and {
                "kinds": [*(clone_list.kinds or ())],
                "namespace": clone_list.namespace,
                "selector": clone_list.selector,
            },
        }
        return {name: value for name, value in fields.items() if value is not None}


class ForEachGeneration(NamedTuple):
    """A loop of a generate rule: each element of a list brings objects."""

    path: Path
    list: str
    context: tuple[ContextEntry, ...]
    preconditions: Conditions | None
    target: GenerateTarget


class Generate(NamedTuple):
    """The `generate` section of a rule."""

    path: Path
    target: GenerateTarget
    """What is generated outside of loops."""
    foreach: tuple[ForEachGeneration, ...] | None
    generate_existing: bool | None
    synchronize: bool | None
    orphan_downstream_on_policy_delete: bool | None


# Verification of images.


class ImageExtractor(NamedTuple):
    """Where objects of a kind have images."""

    path: Path
    name: str
    field_path: str
    """The `path` of the extractor, such as `/spec/steps/*/image`."""
    key: str
    value: str
    jmes_path: str


class ImageExtractors(NamedTuple):
    """The extractors for a kind."""

    path: Path
    kind: str
    extractors: tuple[ImageExtractor, ...]


class Attestation(NamedTuple):
    """Statements about an image, and the conditions that they have to meet."""

    path: Path
    name: str
    type: str
    predicate_type: str
    attestors: tuple[AttestorSet, ...]
    conditions: Conditions | None


class ImageVerification(NamedTuple):
    """One entry of `verifyImages`; the fields of older policies are converted."""

    path: Path
    type: str
    image_references: tuple[str, ...]
    skip_image_references: tuple[str, ...]
    failure_action: str
    attestors: tuple[AttestorSet, ...]
    attestations: tuple[Attestation, ...]
    annotations: Mapping[str, str]
    validate: "ImageValidation | None"
    mutate_digest: bool | None
    verify_digest: bool | None
    required: bool | None
    data: Mapping[str, Json]
    """The whole entry as it is written, for filling in its variables."""


class ImageValidation(NamedTuple):
    """The `validate` section of an entry of `verifyImages`."""

    path: Path
    message: str
    deny: Deny | None


# Rules and policies.


class RuleNode(NamedTuple):
    """One rule of a ClusterPolicy or Policy, or the specification of a cleanup policy."""

    path: Path
    name: str
    context: tuple[ContextEntry, ...]
    match: MatchBlock
    exclude: MatchBlock | None
    image_extractors: tuple[ImageExtractors, ...] | None
    preconditions: Conditions | None
    cel_preconditions: tuple[NamedExpression, ...] | None
    validate: Validate | None
    mutate: Mutate | None
    generate: Generate | None
    verify_images: tuple[ImageVerification, ...] | None
    skip_background_requests: bool | None
    report_properties: Mapping[str, str]
    operations: frozenset[str]
    """The sections that say what it does, such as `mutate`: those with anything in them."""
    bodies: frozenset[Path]
    """The paths of what it does, from the rule on, such as `("validate", "pattern")`: all fields
    of `validate` and `mutate` that are there, `("generate",)` and `("verifyImages",)`."""
    data: Mapping[str, Json] = MappingProxyType({})
    """The whole rule as it is written: variables and references may be anywhere in it."""

    @property
    def filters(self) -> tuple[ResourceFilter, ...]:
        """The filters of the match block, then those of the exclude block."""
        return (*self.match.filters, *(self.exclude.filters if self.exclude else ()))


NO_RULE = RuleNode(
    (),
    "",
    (),
    NO_MATCH,
    *(None, None, None),
    None,
    *(None, None, None, None, None),
    {},
    frozenset(),
    frozenset(),
)
"""The rule of a policy that is of another kind."""


class WebhookConfiguration(NamedTuple):
    """How an API server calls the webhook of a policy."""

    path: Path
    failure_policy: str
    timeout_seconds: int | None
    match_conditions: tuple[NamedExpression, ...]


class PolicyNode(NamedTuple):
    """The specification of a ClusterPolicy or Policy, but for its rules."""

    path: Path
    validation_failure_action: str
    overrides: tuple[FailureOverride, ...]
    """The `validationFailureActionOverrides`."""
    admission: bool | None
    background: bool | None
    apply_rules: str
    emit_warning: bool | None
    failure_policy: str
    webhook: WebhookConfiguration | None
    webhook_timeout_seconds: int | None
    use_server_side_apply: bool | None
    mutate_existing_on_policy_update: bool | None
    generate_existing: bool | None
    generate_existing_on_policy_update: bool | None


NO_POLICY = PolicyNode((), "", (), None, None, "", None, "", None, None, None, None, None, None)
"""The specification of a policy that is of another kind."""

Node: TypeAlias = (
    Condition
    | ConditionGroup
    | Conditions
    | Subject
    | ResourceFilter
    | MatchBlock
    | PatternEntry
    | PatternMap
    | PatternList
    | PatternLeaf
    | Pattern
    | JsonPatch
    | VariableEntry
    | ConfigMapEntry
    | ApiCallEntry
    | GlobalReferenceEntry
    | ImageRegistryEntry
    | FailureOverride
    | Deny
    | ForEachValidation
    | PodSecurityExclusion
    | PodSecurity
    | CelExpression
    | NamedExpression
    | ParamKind
    | ParamRef
    | CelValidation
    | ManifestObject
    | IgnoredFields
    | Manifests
    | Validate
    | ForEachMutation
    | MutateTarget
    | Mutate
    | Clone
    | CloneList
    | GenerateTarget
    | ForEachGeneration
    | Generate
    | ImageExtractor
    | ImageExtractors
    | Rekor
    | CTLog
    | Keys
    | Certificates
    | Keyless
    | Attestor
    | AttestorSet
    | Attestation
    | ImageValidation
    | ImageVerification
    | RuleNode
    | WebhookConfiguration
    | PolicyNode
)
