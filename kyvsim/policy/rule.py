"""Rules, and the other fields of policies: nodes and their readers.

Images and expressions in CEL, which few rules have, are read by separate modules, loaded on
demand.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kyvsim.kubernetes.go_text import to_json
from kyvsim.kubernetes.objects import Json, Path
from kyvsim.policy.read import (
    read_conditions,
    read_context,
    read_deny,
    read_each,
    read_match,
    read_named_expressions,
    read_pattern,
    read_patterns,
    read_pod_security,
    read_section,
    read_text,
    read_texts,
    texts_of,
)
from kyvsim.policy.tree import (
    NO_MATCH,
    Conditions,
    ContextEntry,
    Deny,
    MatchBlock,
    NamedExpression,
    Pattern,
    PodSecurity,
    ResourceFilter,
)

if TYPE_CHECKING:
    from kyvsim.policy.cel_policy import CelValidation
    from kyvsim.policy.images import ImageExtractors, ImageVerification, Manifests


class FailureOverride(NamedTuple):
    """A failure action for some namespaces."""

    path: Path
    action: str
    namespaces: tuple[str, ...] | None
    """Patterns for names of namespaces; None if they are not used."""
    selector: Mapping[str, Json] | None


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
    """The value of `anyPattern` if it is not a list; None if it is one, or missing."""


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
    manifests: "Manifests | None"
    cel: "CelValidation | None"
    assertion: Json
    invalid_any_pattern: Json
    """The value of `anyPattern` if it is not a list; None if it is one, or missing."""


class JsonPatch(NamedTuple):
    """A JSON patch: YAML or JSON in a string, which may contain variables."""

    path: Path
    text: str


class ForEachMutation(NamedTuple):
    """A loop of a mutate rule: each element of a list yields a patch."""

    path: Path
    list: str
    order: str
    context: tuple[ContextEntry, ...]
    preconditions: Conditions | None
    patch_strategic_merge: Pattern | None
    patches_json6902: JsonPatch | None
    foreach: tuple["ForEachMutation", ...] | None


class MutateTarget(NamedTuple):
    """Existing objects that a rule changes; strings may contain variables."""

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
        """The fields that select objects, whose variables are replaced."""
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
    """The objects of a generate rule, or of one of its loops; strings may contain variables."""

    path: Path
    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str
    data: Json
    clone: Clone | None
    clone_list: CloneList | None
    fields: Mapping[str, Json]
    """The fields as written, whose variables are replaced."""


class ForEachGeneration(NamedTuple):
    """A loop of a generate rule: each element of a list yields objects."""

    path: Path
    list: str
    context: tuple[ContextEntry, ...]
    preconditions: Conditions | None
    target: GenerateTarget


class Generate(NamedTuple):
    """The `generate` section of a rule."""

    path: Path
    target: GenerateTarget
    """The target outside of loops."""
    foreach: tuple[ForEachGeneration, ...] | None
    generate_existing: bool | None
    synchronize: bool | None
    orphan_downstream_on_policy_delete: bool | None


class RuleNode(NamedTuple):
    """One rule of a ClusterPolicy or Policy, or the specification of a cleanup policy."""

    path: Path
    name: str
    context: tuple[ContextEntry, ...]
    match: MatchBlock
    exclude: MatchBlock | None
    image_extractors: "tuple[ImageExtractors, ...] | None"
    preconditions: Conditions | None
    cel_preconditions: tuple[NamedExpression, ...] | None
    validate: Validate | None
    mutate: Mutate | None
    generate: Generate | None
    verify_images: "tuple[ImageVerification, ...] | None"
    skip_background_requests: bool | None
    report_properties: Mapping[str, str]
    operations: frozenset[str]
    """The sections that define what it does, such as `mutate`, if they are not empty."""
    bodies: frozenset[Path]
    """The paths of its bodies, relative to the rule, such as `("validate", "pattern")`: all fields
    of `validate` and `mutate`, `("generate",)` and `("verifyImages",)`."""
    data: Mapping[str, Json] = MappingProxyType({})
    """The whole rule as written: variables and references may be anywhere in it."""

    @property
    def filters(self) -> tuple[ResourceFilter, ...]:
        """The filters of the match block, followed by those of the exclude block."""
        return (*self.match.filters, *(self.exclude.filters if self.exclude else ()))


NO_RULE = RuleNode(
    (), "", (), NO_MATCH, *(None, None, None, None, None, None, None, None, None),
    {}, frozenset(), frozenset(),
)  # fmt: skip
"""The rule of a policy of another kind."""


class WebhookConfiguration(NamedTuple):
    """How an API server calls the webhook of a policy."""

    path: Path
    failure_policy: str
    timeout_seconds: int | None
    match_conditions: tuple[NamedExpression, ...]


class PolicyNode(NamedTuple):
    """The specification of a ClusterPolicy or Policy, without its rules."""

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
"""The specification of a policy of another kind."""

READERS: Final[Mapping[str, str]] = {
    "verifyImages": "images.read_image_verifications",
    "imageExtractors": "images.read_image_extractors",
    "manifests": "images.read_manifests",
    "cel": "cel_policy.read_cel",
}
"""Readers of sections whose nodes are defined in another module, as `module.function`."""


def _section(data: Mapping[str, object], field: str, path: Path) -> Any:
    """Return the result of a section's reader, None if the field is missing."""
    if data.get(field) is None:
        return None
    module, name = READERS[field].split(".")
    read = getattr(import_module(f"kyvsim.policy.{module}"), name)
    return read(data[field], (*path, field))


def _validate(data: Mapping[str, Json], path: Path, under: Path) -> Validate:
    return Validate(
        path,
        message=read_text(data, "message"),
        failure_action=read_text(data, "failureAction"),
        overrides=read_overrides(data, "failureActionOverrides", path),
        allow_existing_violations=data.get("allowExistingViolations"),
        pattern=read_pattern(data.get("pattern"), (*path, "pattern"), under),
        any_pattern=read_patterns(data.get("anyPattern"), (*path, "anyPattern"), under),
        deny=read_deny(data.get("deny"), (*path, "deny")),
        foreach=read_each(data.get("foreach"), (*path, "foreach"), _foreach_validation),
        pod_security=read_section(data, "podSecurity", path, read_pod_security),
        manifests=_section(data, "manifests", path),
        cel=_section(data, "cel", path),
        assertion=data.get("assert"),
        invalid_any_pattern=_invalid_any_pattern(data),
    )


def read_overrides(data: Mapping[str, Json], field: str, path: Path) -> tuple[FailureOverride, ...]:
    """Return the failure actions for namespaces, of a rule or of a policy."""

    def override(one: Mapping[str, Json], place: Path) -> FailureOverride:
        return FailureOverride(
            place,
            read_text(one, "action"),
            read_texts(one.get("namespaces")),
            one.get("namespaceSelector"),
        )

    return read_each(data.get(field), (*path, field), override) or ()


def _invalid_any_pattern(data: Mapping[str, object]) -> Json:
    found = data.get("anyPattern")
    return None if found.__class__ is list else found


def _foreach_validation(data: Mapping[str, Json], path: Path) -> ForEachValidation:
    return ForEachValidation(
        path,
        list=read_text(data, "list"),
        element_scope=data.get("elementScope"),
        context=read_context(data.get("context"), (*path, "context")),
        preconditions=read_conditions(data.get("preconditions"), (*path, "preconditions")),
        pattern=read_pattern(data.get("pattern"), (*path, "pattern")),
        any_pattern=read_patterns(data.get("anyPattern"), (*path, "anyPattern")),
        deny=read_deny(data.get("deny"), (*path, "deny")),
        foreach=read_each(data.get("foreach"), (*path, "foreach"), _foreach_validation),
        invalid_any_pattern=_invalid_any_pattern(data),
    )


def _json_patch(data: object, path: Path) -> JsonPatch | None:
    return JsonPatch(path, data) if data.__class__ is str and data else None


def _mutate(data: Mapping[str, Json], path: Path, under: Path) -> Mutate:
    def target(one: Mapping[str, Json], place: Path) -> MutateTarget:
        api_version, kind, namespace, name, uid = texts_of(one, *_NAMED, "uid")
        return MutateTarget(
            place,
            *(api_version, kind, namespace, name, uid),
            selector=one.get("selector"),
            context=read_context(one.get("context"), (*place, "context")),
            preconditions=read_conditions(one.get("preconditions"), (*place, "preconditions")),
        )

    loop = partial(_foreach_mutation, under=under)
    return Mutate(
        path,
        patch_strategic_merge=_merge_patch(data, path, under),
        patches_json6902=_json_patch(data.get("patchesJson6902"), (*path, "patchesJson6902")),
        foreach=read_each(data.get("foreach"), (*path, "foreach"), loop),
        targets=read_each(data.get("targets"), (*path, "targets"), target),
        mutate_existing_on_policy_update=data.get("mutateExistingOnPolicyUpdate"),
    )


def _merge_patch(data: Mapping[str, object], path: Path, under: Path) -> Pattern | None:
    return read_pattern(data.get("patchStrategicMerge"), (*path, "patchStrategicMerge"), under)


def _foreach_mutation(data: Mapping[str, object], path: Path, under: Path) -> ForEachMutation:
    loop = partial(_foreach_mutation, under=under)
    return ForEachMutation(
        path,
        list=read_text(data, "list"),
        order=read_text(data, "order"),
        context=read_context(data.get("context"), (*path, "context")),
        preconditions=read_conditions(data.get("preconditions"), (*path, "preconditions")),
        patch_strategic_merge=_merge_patch(data, path, under),
        patches_json6902=_json_patch(data.get("patchesJson6902"), (*path, "patchesJson6902")),
        foreach=read_each(data.get("foreach"), (*path, "foreach"), loop),
    )


_NAMED = ("apiVersion", "kind", "namespace", "name")
"""The fields that name generated or mutated objects."""


def _clone(data: Mapping[str, Json], path: Path) -> Clone:
    return Clone(path, *texts_of(data, "name", "namespace"))


def _clone_list(data: Mapping[str, Json], path: Path) -> CloneList:
    kinds = read_texts(data.get("kinds"))
    return CloneList(path, kinds, read_text(data, "namespace"), data.get("selector"))


def _generate_target(data: Mapping[str, Json], path: Path) -> GenerateTarget:
    api_version, kind, namespace, name, uid = texts_of(data, *_NAMED, "uid")
    return GenerateTarget(
        path,
        *(api_version, kind, namespace, name, uid),
        data=data.get("data"),
        clone=read_section(data, "clone", path, _clone),
        clone_list=read_section(data, "cloneList", path, _clone_list),
        fields={
            name: data[name]
            for name in (*_NAMED, "data", "clone", "cloneList")
            if data.get(name) is not None
        },
    )


def _generate(data: Mapping[str, Json], path: Path) -> Generate:
    def loop(one: Mapping[str, object], place: Path) -> ForEachGeneration:
        return ForEachGeneration(
            place,
            list=read_text(one, "list"),
            context=read_context(one.get("context"), (*place, "context")),
            preconditions=read_conditions(one.get("preconditions"), (*place, "preconditions")),
            target=_generate_target(one, place),
        )

    return Generate(
        path,
        target=_generate_target(data, path),
        foreach=read_each(data.get("foreach"), (*path, "foreach"), loop),
        generate_existing=data.get("generateExisting"),
        synchronize=data.get("synchronize"),
        orphan_downstream_on_policy_delete=data.get("orphanDownstreamOnPolicyDelete"),
    )


def read_rule(data: Mapping[str, Json], path: Path, under: Path = ()) -> RuleNode:
    """Return a rule of a ClusterPolicy or Policy.

    `under` are the fields to which autogen moved the patterns of a derived rule.
    """
    return RuleNode(
        path,
        name=read_text(data, "name"),
        context=read_context(data.get("context"), (*path, "context")),
        match=read_match(data.get("match"), (*path, "match")),
        exclude=read_section(data, "exclude", path, read_match),
        image_extractors=_section(data, "imageExtractors", path),
        preconditions=read_conditions(data.get("preconditions"), (*path, "preconditions")),
        cel_preconditions=(
            None
            if data.get("celPreconditions") is None
            else read_named_expressions(data, "celPreconditions", path)
        ),
        validate=read_section(data, "validate", path, partial(_validate, under=under)),
        mutate=read_section(data, "mutate", path, partial(_mutate, under=under)),
        generate=read_section(data, "generate", path, _generate),
        verify_images=_section(data, "verifyImages", path),
        skip_background_requests=data.get("skipBackgroundRequests"),
        report_properties=data.get("reportProperties") or {},
        operations=frozenset(
            name
            for name in ("validate", "mutate", "generate", "verifyImages")
            if (bool if name == "verifyImages" else _is_set)(data.get(name))
        ),
        bodies=frozenset(body_paths(data)),
        data=data,
    )


def body_paths(data: Mapping[str, Json]) -> Iterator[Path]:
    """Yield the paths of a rule's bodies, as in `RuleNode.bodies`."""
    for name in ("validate", "mutate"):
        section = data.get(name) or {}
        yield from ((name, field) for field, value in section.items() if value is not None)
    yield from ((name,) for name in ("generate", "verifyImages") if data.get(name) is not None)


_FREE_DATA = frozenset({"patchStrategicMerge", "data"})
_POINTERS = frozenset(
    {"allowExistingViolations", "mutateExistingOnPolicyUpdate", "generate", "generateExisting"}
)
"""Switches for which false differs from a missing value: pointers in Go."""


def _is_set(value: object) -> bool:
    """Return whether a Go struct with this data differs from an empty one.

    Any list counts, even an empty one, and so does any value in a field for arbitrary data, and in
    a switch that is a pointer. upstream: api/kyverno/v1/rule_types.go, HasMutate etc.
    """
    if value.__class__ is dict:
        return any(
            name in _FREE_DATA or (name in _POINTERS and child is not None) or _is_set(child)
            for name, child in value.items()
        )
    return value is not None and value is not False and value != ""


def read_policy(spec: Mapping[str, Json], path: Path) -> PolicyNode:
    """Return the specification of a ClusterPolicy or Policy, without its rules."""
    return PolicyNode(
        path,
        validation_failure_action=read_text(spec, "validationFailureAction"),
        overrides=read_overrides(spec, "validationFailureActionOverrides", path),
        admission=spec.get("admission"),
        background=spec.get("background"),
        apply_rules=read_text(spec, "applyRules"),
        emit_warning=spec.get("emitWarning"),
        failure_policy=read_text(spec, "failurePolicy"),
        webhook=read_section(spec, "webhookConfiguration", path, _webhook),
        webhook_timeout_seconds=spec.get("webhookTimeoutSeconds"),
        use_server_side_apply=spec.get("useServerSideApply"),
        mutate_existing_on_policy_update=spec.get("mutateExistingOnPolicyUpdate"),
        generate_existing=spec.get("generateExisting"),
        generate_existing_on_policy_update=spec.get("generateExistingOnPolicyUpdate"),
    )


def _webhook(data: Mapping[str, Json], path: Path) -> WebhookConfiguration:
    return WebhookConfiguration(
        path,
        failure_policy=read_text(data, "failurePolicy"),
        timeout_seconds=data.get("timeoutSeconds"),
        match_conditions=read_named_expressions(data, "matchConditions", path),
    )


def read_cleanup_rule(spec: Mapping[str, object], path: Path) -> RuleNode:
    """Return the specification of a cleanup policy as a rule whose conditions come first."""
    return NO_RULE._replace(
        path=path,
        context=read_context(spec.get("context"), (*path, "context")),
        match=read_match(spec.get("match"), (*path, "match")),
        exclude=read_section(spec, "exclude", path, read_match),
        preconditions=read_conditions(spec.get("conditions"), (*path, "conditions")),
        data=spec,
    )


# Rules as JSON, for Kyverno's comparisons and in a policy's status.


def text_of_section(rule: RuleNode, section: str) -> str:
    """Return a section of a rule as JSON, without the conditions of `deny`."""
    body = rule.data[section]
    has_deny = section == "validate" and body.get("deny") is not None
    return to_json({**body, "deny": {}} if has_deny else body)


def fixed_generation(rule: RuleNode) -> str:
    """Return the immutable part of a rule's `generate` section, as JSON.

    upstream: pkg/validation/policy/generate.go
    """
    free = ("data", "foreach", "generateExisting", "orphanDownstreamOnPolicyDelete", "synchronize")
    return to_json(_without(rule.data["generate"], *free))


def text_without(rule: RuleNode, *fields: str) -> str:
    """Return a rule as JSON, without some of its fields."""
    return to_json(_without(rule.data, *fields))


def _without(data: Mapping[str, object], *names: str) -> dict[str, Json]:
    return {name: value for name, value in data.items() if name not in names}


def status_rule(rule: RuleNode) -> Json:
    """Return a rule with the empty fields that its Go type always writes.

    upstream: api/kyverno/v1
    """
    data = rule.data
    written = dict(data)
    for name in ("match", "exclude"):
        block = data.get(name)
        if block is not None:
            groups = {
                group: [{"resources": {}, **one} for one in block[group]]
                for group in ("any", "all")
                if block.get(group)
            }
            written[name] = {"resources": {}, **block, **groups}
    if data.get("context"):
        written["context"] = [
            entry
            if entry.get("apiCall") is None
            else {**entry, "apiCall": {"urlPath": "", **entry["apiCall"]}}
            for entry in data["context"]
        ]
    if data.get("verifyImages"):
        written["verifyImages"] = [{"validate": {}, **one} for one in data["verifyImages"]]
    return written


def admission_policy_fields(rule: RuleNode) -> dict[str, Json]:
    """Return the fields of an admission policy from a rule in CEL."""
    cel = rule.data["validate"]["cel"]
    return {
        "paramKind": cel.get("paramKind"),
        "variables": cel.get("variables"),
        "validations": cel.get("expressions"),
        "auditAnnotations": cel.get("auditAnnotations"),
        "matchConditions": rule.data.get("celPreconditions"),
    }


def without_checks(entry: Mapping[str, Json]) -> Json:
    """Return an entry of `verifyImages` without the parts that need attestations.

    These are `validate`, and the conditions on attestations: their variables are replaced later.
    """
    attestations = [_without(one, "conditions") for one in entry.get("attestations") or ()]
    bare = _without(entry, "validate")
    return {**bare, "attestations": attestations} if attestations else bare
