"""CEL expressions in rules, and policies in CEL: nodes and their readers.

The specifications of Kyverno's CEL kinds and of Kubernetes' admission policies are one node,
since most of their fields are the same; a field that a kind does not have is empty.

upstream: kyverno/api api/policies.kyverno.io/v1beta1, k8s.io/api admissionregistration/v1
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import NamedTuple, TypeVar

from kyvsim.kubernetes.objects import Json, Path, text_field
from kyvsim.policy.read import read_each, read_named_expressions, read_text, texts_of
from kyvsim.policy.tree import NamedExpression


class CelExpression(NamedTuple):
    """A CEL expression with its failure message."""

    path: Path
    expression: str
    message: str
    message_expression: str
    reason: str


class ParamKind(NamedTuple):
    """The kind of the parameters of CEL expressions."""

    path: Path
    api_version: str
    kind: str


class ParamRef(NamedTuple):
    """A reference to the parameters of CEL expressions."""

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


class ResourceRule(NamedTuple):
    """A rule that selects requests: upstream's NamedRuleWithOperations."""

    path: Path
    api_groups: tuple[str, ...]
    api_versions: tuple[str, ...]
    resources: tuple[str, ...]
    operations: tuple[str, ...]
    resource_names: tuple[str, ...]
    scope: str

    @property
    def named(self) -> Iterator[tuple[str, str, str]]:
        """All named combinations of group, version and resource."""
        return product(self.api_groups, self.api_versions, self.resources)

    @property
    def written(self) -> dict[str, Json]:
        """The fields that are set, as in webhook configurations."""
        fields = {
            "apiGroups": [*self.api_groups],
            "apiVersions": [*self.api_versions],
            "operations": [*self.operations],
            "resources": [*self.resources],
            "resourceNames": [*self.resource_names],
            "scope": self.scope,
        }
        return {name: value for name, value in fields.items() if value}


class MatchConstraints(NamedTuple):
    """The requests, or existing objects, that a policy or a binding matches."""

    path: Path
    resource_rules: tuple[ResourceRule, ...] = ()
    exclude_resource_rules: tuple[ResourceRule, ...] = ()
    namespace_selector: Mapping[str, Json] | None = None
    object_selector: Mapping[str, Json] | None = None
    match_policy: str = ""
    expression: str = ""
    """Returns the existing objects: only in `targetMatchConstraints`."""

    @property
    def selects_objects(self) -> bool:
        """Whether there is a selector for labels of objects."""
        return any((self.object_selector or {}).values())

    @property
    def selects_namespaces(self) -> bool:
        """Whether there is a selector for labels of namespaces."""
        return any((self.namespace_selector or {}).values())

    def for_any_operation(self) -> "MatchConstraints":
        """Return the constraints with resource rules for every operation."""
        rules = tuple(one._replace(operations=("*",)) for one in self.resource_rules)
        return self._replace(resource_rules=rules)


class Mutation(NamedTuple):
    """One entry of `mutations`."""

    path: Path
    patch_type: str
    expressions: Mapping[str, str]
    """The expressions by the field that contains them: `applyConfiguration`, `jsonPatch`."""

    @property
    def field(self) -> str | None:
        """The field that is used; upstream ignores other patch types."""
        return _PATCH_FIELDS.get(self.patch_type)

    @property
    def expression(self) -> tuple[str, Path] | None:
        """The used expression, with its path; None if there is none."""
        field = self.field
        if field is None or field not in self.expressions:
            return None
        return self.expressions[field], (*self.path, field, "expression")


_PATCH_FIELDS: Mapping[str, str] = {
    "JSONPatch": "jsonPatch",
    "ApplyConfiguration": "applyConfiguration",
}


class Template(NamedTuple):
    """A template of manifests to generate."""

    path: Path
    value: str
    interpolate: str
    """`cel` if it has placeholders."""


class Generation(NamedTuple):
    """One entry of `generate`: an expression or a template."""

    path: Path
    expression: str | None
    template: Template | None


class ImageReference(NamedTuple):
    """Images that a policy matches: a glob or an expression."""

    path: Path
    glob: str
    expression: str


class AttestorExpression(NamedTuple):
    """An expression for a part of an attestor."""

    path: Path
    part: str
    """Upstream's name for it, such as `cert chain`."""
    expression: str
    holder: Json
    """The field that upstream's errors show: the nearest one that it compiles as a whole."""


class CelAttestor(NamedTuple):
    """An attestor of an ImageValidatingPolicy, with the expressions for its parts."""

    path: Path
    name: str
    expressions: tuple[AttestorExpression, ...]
    keys: tuple[tuple[Path, str], ...] = ()
    """Its constant keys and certificates, with their paths."""


class ImageVerificationSettings(NamedTuple):
    """The `validationConfigurations` of an ImageValidatingPolicy."""

    mutate_digest: bool | None = None
    verify_digest: bool | None = None
    required: bool | None = None


class EvaluationSettings(NamedTuple):
    """The `evaluation` of a policy; None for switches that are not set."""

    mode: str
    """What the policy evaluates: objects (`Kubernetes`), or payloads of some kind."""
    admission: bool | None
    background: bool | None
    mutate_existing: bool | None
    synchronize: bool | None
    generate_existing: bool | None
    orphan_downstream_on_policy_delete: bool | None
    skip_background_requests: bool | None
    use_server_side_apply: bool | None


class AutogenSettings(NamedTuple):
    """The `autogen` of a policy: variants for Pod controllers, and admission policies."""

    pod_controllers: tuple[str, ...] | None
    """The controllers; None if they are not set."""
    native_policies: Mapping[str, bool | None]
    """Whether to generate an admission policy, by its kind."""


class CelPolicyNode(NamedTuple):
    """The specification of a policy in CEL."""

    path: Path
    match_constraints: MatchConstraints | None
    match_conditions: tuple[NamedExpression, ...]
    variables: tuple[NamedExpression, ...]
    validations: tuple[CelExpression, ...]
    validation_actions: tuple[str, ...]
    audit_annotations: tuple[NamedExpression, ...]
    failure_policy: str
    param_kind: ParamKind | None
    mutations: tuple[Mutation, ...]
    reinvocation_policy: str
    target_match_constraints: MatchConstraints | None
    target_match_conditions: tuple[NamedExpression, ...]
    generate: tuple[Generation, ...] | None
    use_server_side_apply: bool | None
    conditions: tuple[NamedExpression, ...]
    schedule: str
    deletion_propagation_policy: str
    match_image_references: tuple[ImageReference, ...]
    images: tuple[NamedExpression, ...]
    attestors: tuple[CelAttestor, ...]
    attestations: tuple[str, ...]
    """The names of the attestations."""
    image_verification: ImageVerificationSettings
    evaluation: EvaluationSettings
    autogen: AutogenSettings
    webhook_timeout_seconds: int | None
    data: Mapping[str, Json]
    """The whole specification as written, for autogen."""

    @property
    def resource_rules(self) -> tuple[ResourceRule, ...]:
        """The rules of the match constraints."""
        return self.match_constraints.resource_rules if self.match_constraints else ()

    @property
    def has_own_targets(self) -> bool:
        """Whether it has targets of its own, and does not change the objects of requests."""
        targets = self.target_match_constraints
        return targets is not None and bool(targets.expression or targets.resource_rules)

    @property
    def ignores_failures(self) -> bool:
        """Whether requests pass if it cannot be evaluated."""
        return self.failure_policy == "Ignore"


class BindingNode(NamedTuple):
    """The specification of a binding of an admission policy."""

    path: Path
    policy_name: str
    match_resources: MatchConstraints | None
    param_ref: ParamRef | None
    validation_actions: tuple[str, ...]


class PlacedExpression(NamedTuple):
    """The text of an expression."""

    path: Path
    text: str
    variable: str = ""
    """The variable that it defines; "" for none."""


def expressions(policy: CelPolicyNode) -> Iterator[PlacedExpression]:
    """Yield the expressions of a policy, in the order of its fields.

    Placeholders of templates are not included.
    """
    order = {name: number for number, name in enumerate(policy.data)}
    targets = policy.target_match_constraints
    found = [
        *(
            PlacedExpression((*one.path, "expression"), one.expression, one.name)
            for one in policy.variables
        ),
        *(
            PlacedExpression((*one.path, "expression"), one.expression or "")
            for one in (
                *policy.match_conditions,
                *policy.target_match_conditions,
                *policy.conditions,
                *policy.images,
                *((targets,) if targets is not None else ()),
                *(policy.generate or ()),
                *policy.match_image_references,
            )
        ),
        *(
            PlacedExpression((*one.path, field), text)
            for one in policy.validations
            for field, text in (
                ("expression", one.expression),
                ("messageExpression", one.message_expression),
            )
        ),
        *(
            PlacedExpression((*one.path, "valueExpression"), one.expression)
            for one in policy.audit_annotations
        ),
        *(
            PlacedExpression((*one.path, field, "expression"), text)
            for one in policy.mutations
            for field, text in one.expressions.items()
        ),
        *(
            PlacedExpression(part.path, part.expression)
            for one in policy.attestors
            for part in one.expressions
        ),
    ]
    return iter(sorted(found, key=lambda one: order[str(one.path[len(policy.path)])]))


_Node = TypeVar("_Node")


def _each(
    data: Mapping[str, object],
    field: str,
    path: Path,
    read: Callable[[Mapping[str, object], Path], _Node],
) -> tuple[_Node, ...]:
    return read_each(data.get(field), (*path, field), read) or ()


def _texts(data: Mapping[str, Json], field: str) -> tuple[str, ...]:
    return tuple(data.get(field) or ())


def _child(data: Mapping[str, object], *fields: str) -> Json:
    found: Json = data
    for field in fields:
        found = (found or {}).get(field)
    return found


def read_cel_policy(spec: Mapping[str, Json], path: Path = ("spec",)) -> CelPolicyNode:
    """Return the specification of a policy of a CEL kind, or of an admission policy."""
    wanted, evaluation, autogen = (
        spec.get(name) or {} for name in ("validationConfigurations", "evaluation", "autogen")
    )
    generate, controllers = spec.get("generate"), _child(autogen, "podControllers", "controllers")
    return CelPolicyNode(
        path,
        match_constraints=read_match_constraints(spec, "matchConstraints", path),
        match_conditions=read_named_expressions(spec, "matchConditions", path),
        variables=read_named_expressions(spec, "variables", path),
        validations=read_expressions(spec, "validations", path),
        validation_actions=_texts(spec, "validationActions"),
        audit_annotations=read_named_expressions(spec, "auditAnnotations", path),
        failure_policy=text_field(spec, "failurePolicy"),
        param_kind=read_param_kind(spec.get("paramKind") or None, (*path, "paramKind")),
        mutations=_each(spec, "mutations", path, _mutation),
        reinvocation_policy=text_field(spec, "reinvocationPolicy"),
        target_match_constraints=read_match_constraints(spec, "targetMatchConstraints", path),
        target_match_conditions=read_named_expressions(spec, "targetMatchConditions", path),
        generate=None if generate is None else _each(spec, "generate", path, _generation),
        use_server_side_apply=spec.get("useServerSideApply"),
        conditions=read_named_expressions(spec, "conditions", path),
        schedule=text_field(spec, "schedule"),
        deletion_propagation_policy=text_field(spec, "deletionPropagationPolicy"),
        match_image_references=_each(
            spec,
            "matchImageReferences",
            path,
            lambda data, place: ImageReference(place, *texts_of(data, "glob", "expression")),
        ),
        images=read_named_expressions(spec, "images", path),
        attestors=_each(spec, "attestors", path, _attestor),
        attestations=tuple(text_field(one, "name") for one in spec.get("attestations") or ()),
        image_verification=ImageVerificationSettings(
            wanted.get("mutateDigest"), wanted.get("verifyDigest"), wanted.get("required")
        ),
        evaluation=EvaluationSettings(
            text_field(evaluation, "mode") or "Kubernetes",
            admission=_child(evaluation, "admission", "enabled"),
            background=_child(evaluation, "background", "enabled"),
            mutate_existing=_child(evaluation, "mutateExisting", "enabled"),
            synchronize=_child(evaluation, "synchronize", "enabled"),
            generate_existing=_child(evaluation, "generateExisting", "enabled"),
            orphan_downstream_on_policy_delete=_child(
                evaluation, "orphanDownstreamOnPolicyDelete", "enabled"
            ),
            skip_background_requests=evaluation.get("skipBackgroundRequests"),
            use_server_side_apply=evaluation.get("useServerSideApply"),
        ),
        autogen=AutogenSettings(
            None if controllers is None else tuple(controllers),
            {
                f"{kind}AdmissionPolicy": _child(autogen, f"{name}AdmissionPolicy", "enabled")
                for kind, name in (("Validating", "validating"), ("Mutating", "mutating"))
            },
        ),
        webhook_timeout_seconds=_child(spec, "webhookConfiguration", "timeoutSeconds"),
        data=spec,
    )


def read_binding(spec: Mapping[str, object], path: Path = ("spec",)) -> BindingNode:
    """Return the specification of a binding of an admission policy."""
    return BindingNode(
        path,
        policy_name=text_field(spec, "policyName"),
        match_resources=read_match_constraints(spec, "matchResources", path),
        param_ref=read_param_ref(spec.get("paramRef") or None, (*path, "paramRef")),
        validation_actions=_texts(spec, "validationActions"),
    )


def read_match_constraints(
    spec: Mapping[str, Json], field: str, path: Path
) -> MatchConstraints | None:
    """Return the constraints in a field of a specification, None if there are none."""
    data = spec.get(field)
    if data is None:
        return None
    path = (*path, field)
    return MatchConstraints(
        path,
        resource_rules=_each(data, "resourceRules", path, _resource_rule),
        exclude_resource_rules=_each(data, "excludeResourceRules", path, _resource_rule),
        namespace_selector=data.get("namespaceSelector"),
        object_selector=data.get("objectSelector"),
        match_policy=text_field(data, "matchPolicy"),
        expression=text_field(data, "expression"),
    )


def _resource_rule(data: Mapping[str, object], path: Path) -> ResourceRule:
    return ResourceRule(
        path,
        api_groups=_texts(data, "apiGroups"),
        api_versions=_texts(data, "apiVersions"),
        resources=_texts(data, "resources"),
        operations=_texts(data, "operations"),
        resource_names=_texts(data, "resourceNames"),
        scope=text_field(data, "scope"),
    )


def _mutation(data: Mapping[str, object], path: Path) -> Mutation:
    found = {
        field: text_field(data[field], "expression")
        for field in _PATCH_FIELDS.values()
        if data.get(field) is not None
    }
    return Mutation(path, text_field(data, "patchType"), found)


def _generation(data: Mapping[str, Json], path: Path) -> Generation:
    template = data.get("template")
    texts = texts_of(template or {}, "value", "interpolate")
    return Generation(
        path, data.get("expression"), template and Template((*path, "template"), *texts)
    )


_ATTESTOR_PARTS: Sequence[tuple[str, tuple[str, ...], tuple[str, ...]]] = (
    ("key", ("cosign", "key"), ()),
    ("cert", ("cosign", "certificate"), ("cert",)),
    ("cert chain", ("cosign", "certificate"), ("certChain",)),
    ("notary cert", ("notary",), ("certs",)),
    ("notary tsa cert", ("notary",), ("tsaCerts",)),
    ("trustedRoot", ("cosign", "trustedRoot"), ()),
)
"""Parts with an expression: the name, the field that errors show, and the rest of the path."""


def _attestor(data: Mapping[str, object], path: Path) -> CelAttestor:
    found = tuple(
        AttestorExpression((*path, *shown, *rest, "expression"), part, text, _child(data, *shown))
        for part, shown, rest in _ATTESTOR_PARTS
        if (text := _child(data, *shown, *rest, "expression"))
    )
    keys = tuple(
        ((*path, *shown, *rest, field), text)
        for _, shown, rest in _ATTESTOR_PARTS[:-1]
        for field in ("data", "value")
        if isinstance(text := _child(data, *shown, *rest, field), str)
    )
    return CelAttestor(path, text_field(data, "name"), found, keys)


def read_cel(data: Mapping[str, Json], path: Path) -> CelValidation:
    """Return the `cel` block of a validate rule."""
    return CelValidation(
        path,
        generate=data.get("generate"),
        expressions=read_expressions(data, "expressions", path),
        audit_annotations=read_named_expressions(data, "auditAnnotations", path),
        variables=read_named_expressions(data, "variables", path),
        param_kind=read_param_kind(data.get("paramKind"), (*path, "paramKind")),
        param_ref=read_param_ref(data.get("paramRef"), (*path, "paramRef")),
    )


def read_param_kind(data: Json, path: Path) -> ParamKind | None:
    """Return the kind of parameters, None if there is none."""
    if data is None:
        return None
    return ParamKind(path, *texts_of(data, "apiVersion", "kind"))


def read_param_ref(data: Json, path: Path) -> ParamRef | None:
    """Return a reference to parameters, None if there is none."""
    if data is None:
        return None
    return ParamRef(
        path,
        name=read_text(data, "name"),
        namespace=read_text(data, "namespace"),
        selector=data.get("selector"),
        parameter_not_found_action=read_text(data, "parameterNotFoundAction"),
    )


def _expression(data: Mapping[str, object], path: Path) -> CelExpression:
    return CelExpression(
        path, *texts_of(data, "expression", "message", "messageExpression", "reason")
    )


def read_expressions(data: Mapping[str, Json], field: str, path: Path) -> tuple[CelExpression, ...]:
    """Return the validations in a field; null is an empty one."""
    listed = [one or {} for one in data.get(field) or ()]
    return read_each(listed, (*path, field), _expression) or ()
