"""Rules, and what policies say outside of them: nodes and their readers.

Sections that few rules have are read by modules of their own, loaded when they are needed.
"""

from collections.abc import Iterator, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kyvsim.kubernetes.objects import Json, Path
from kyvsim.policy.read import (
    read_conditions,
    read_context,
    read_deny,
    read_each,
    read_exclude,
    read_match,
    read_pattern,
    read_patterns,
    read_pod_security,
    read_text,
    read_texts,
)
from kyvsim.policy.tree import (
    NO_MATCH,
    Conditions,
    ContextEntry,
    Deny,
    MatchBlock,
    Pattern,
    PodSecurity,
    ResourceFilter,
)

if TYPE_CHECKING:
    from kyvsim.policy.cel import CelValidation, NamedExpression
    from kyvsim.policy.generation import Generate
    from kyvsim.policy.images import ImageExtractors, ImageVerification, Manifests
    from kyvsim.policy.mutation import Mutate


class FailureOverride(NamedTuple):
    """A failure action for some namespaces."""

    path: Path
    action: str
    namespaces: tuple[str, ...] | None
    """Patterns for names of namespaces; None where they do not count."""
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
    """What `anyPattern` has if that is no list; None where it is one, or missing."""


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
    """What `anyPattern` has if that is no list; None where it is one, or missing."""


class RuleNode(NamedTuple):
    """One rule of a ClusterPolicy or Policy, or the specification of a cleanup policy."""

    path: Path
    name: str
    context: tuple[ContextEntry, ...]
    match: MatchBlock
    exclude: MatchBlock | None
    image_extractors: "tuple[ImageExtractors, ...] | None"
    preconditions: Conditions | None
    cel_preconditions: "tuple[NamedExpression, ...] | None"
    validate: Validate | None
    mutate: "Mutate | None"
    generate: "Generate | None"
    verify_images: "tuple[ImageVerification, ...] | None"
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
    match_conditions: tuple["NamedExpression", ...]


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


READERS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "mutate": "mutation.read_mutate",
        "generate": "generation.read_generate",
        "verifyImages": "images.read_image_verifications",
        "imageExtractors": "images.read_image_extractors",
        "manifests": "images.read_manifests",
        "cel": "cel.read_cel",
        "celPreconditions": "cel.read_match_conditions",
        "matchConditions": "cel.read_match_conditions",
    }
)
"""What reads a section whose nodes have a module of their own: the module and its function."""


def _section(data: Mapping[str, Json], field: str, path: Path, *more: Path) -> Any:
    """Return what the reader of a section returns, None where the field is missing."""
    if data.get(field) is None:
        return None
    module, name = READERS[field].split(".")
    read = getattr(import_module(f"kyvsim.policy.{module}"), name)
    return read(data[field], (*path, field), *more)


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
        pod_security=read_pod_security(data.get("podSecurity"), (*path, "podSecurity")),
        manifests=_section(data, "manifests", path),
        cel=_section(data, "cel", path),
        assertion=data.get("assert"),
        invalid_any_pattern=_invalid_any_pattern(data),
    )


def read_overrides(data: Mapping[str, Json], field: str, path: Path) -> tuple[FailureOverride, ...]:
    """Return the failure actions for some namespaces, of a rule or of a policy."""

    def override(one: Mapping[str, Json], place: Path) -> FailureOverride:
        return FailureOverride(
            place,
            read_text(one, "action"),
            read_texts(one.get("namespaces")),
            one.get("namespaceSelector"),
        )

    return read_each(data.get(field), (*path, field), override) or ()


def _invalid_any_pattern(data: Mapping[str, Json]) -> Json:
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


def read_rule(data: Mapping[str, Json], path: Path, under: Path = ()) -> RuleNode:
    """Return a rule of a ClusterPolicy or Policy.

    `under` names the fields under which autogen put the patterns of a rule that it derived.
    """
    validate = data.get("validate")
    return RuleNode(
        path,
        name=read_text(data, "name"),
        context=read_context(data.get("context"), (*path, "context")),
        match=read_match(data.get("match"), (*path, "match")),
        exclude=read_exclude(data, path),
        image_extractors=_section(data, "imageExtractors", path),
        preconditions=read_conditions(data.get("preconditions"), (*path, "preconditions")),
        cel_preconditions=_section(data, "celPreconditions", path),
        validate=None if validate is None else _validate(validate, (*path, "validate"), under),
        mutate=_section(data, "mutate", path, under),
        generate=_section(data, "generate", path),
        verify_images=_section(data, "verifyImages", path),
        skip_background_requests=data.get("skipBackgroundRequests"),
        report_properties=data.get("reportProperties") or {},
        operations=frozenset(name for name in _SECTIONS if _has_content(name, data.get(name))),
        bodies=frozenset(body_paths(data)),
        data=data,
    )


_SECTIONS = ("validate", "mutate", "generate", "verifyImages")


def body_paths(data: Mapping[str, Json]) -> Iterator[Path]:
    """Yield the paths of what a rule does, as `RuleNode.bodies` has them."""
    for name in ("validate", "mutate"):
        section = data.get(name) or {}
        yield from ((name, field) for field, value in section.items() if value is not None)
    yield from ((name,) for name in ("generate", "verifyImages") if data.get(name) is not None)


def _has_content(name: str, section: Json) -> bool:
    return bool(section) if name == "verifyImages" else _is_set(section)


_FREE_DATA = frozenset({"patchStrategicMerge", "data"})
_POINTERS = frozenset(
    {"allowExistingViolations", "mutateExistingOnPolicyUpdate", "generate", "generateExisting"}
)
"""Switches for which false differs from nothing: pointers in Go."""


def _is_set(value: Json) -> bool:
    """Return whether a struct of Go with this data differs from an empty one.

    Any list counts, an empty one too, and so does anything in a field for free data, and a switch
    that is a pointer. upstream: api/kyverno/v1/rule_types.go, HasMutate and its like
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
        webhook=_webhook(spec.get("webhookConfiguration"), (*path, "webhookConfiguration")),
        webhook_timeout_seconds=spec.get("webhookTimeoutSeconds"),
        use_server_side_apply=spec.get("useServerSideApply"),
        mutate_existing_on_policy_update=spec.get("mutateExistingOnPolicyUpdate"),
        generate_existing=spec.get("generateExisting"),
        generate_existing_on_policy_update=spec.get("generateExistingOnPolicyUpdate"),
    )


def _webhook(data: Json, path: Path) -> WebhookConfiguration | None:
    if data is None:
        return None
    return WebhookConfiguration(
        path,
        failure_policy=read_text(data, "failurePolicy"),
        timeout_seconds=data.get("timeoutSeconds"),
        match_conditions=_section(data, "matchConditions", path) or (),
    )


def read_cleanup_rule(spec: Mapping[str, Json], path: Path) -> RuleNode:
    """Return the specification of a cleanup policy as a rule whose conditions come first."""
    return NO_RULE._replace(
        path=path,
        context=read_context(spec.get("context"), (*path, "context")),
        match=read_match(spec.get("match"), (*path, "match")),
        exclude=read_exclude(spec, path),
        preconditions=read_conditions(spec.get("conditions"), (*path, "conditions")),
        data=spec,
    )
