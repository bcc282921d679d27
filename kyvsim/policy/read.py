"""Documents to trees. Each part of a policy is read here and nowhere else.

The schema of the kind has checked the document. Where it allows anything (conditions, patterns,
loops within loops), data of the wrong type is kept in the node, so that the message for it can be
Kyverno's own.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from types import MappingProxyType
from typing import TypeVar

from kyvsim.kubernetes.objects import Json, Path
from kyvsim.policy import tree
from kyvsim.policy.anchors import parse_anchor

_Node = TypeVar("_Node")


def _map(data: Json) -> Mapping[str, Json]:
    return data if data.__class__ is dict else {}


def _text(data: Mapping[str, Json], name: str) -> str:
    value = data.get(name)
    return value if value.__class__ is str else ""


def _texts(data: Json) -> tuple[str, ...] | None:
    return None if data is None else tuple(data)


def _each(
    data: Json, path: Path, read: Callable[[Mapping[str, Json], Path], _Node]
) -> tuple[_Node, ...] | None:
    """Return the nodes of a list of maps, None where there is no list."""
    if data.__class__ is not list:
        return None
    return tuple(read(one, (*path, index)) for index, one in enumerate(data))


# Conditions.


def read_conditions(data: Json, path: Path) -> tree.Conditions | None:
    """Return a block of conditions, None where there is none.

    upstream drops a policy whose conditions have another form while it reads it.
    """
    if data is None:
        return None
    is_list = data.__class__ is list
    problem = _problem_of_conditions(data)
    if problem:
        return tree.Conditions(path, (), is_list, problem)
    if not is_list:
        return tree.Conditions(path, (_condition_group(data, path),))
    groups = tuple(_list_item(one, (*path, index)) for index, one in enumerate(data))
    return tree.Conditions(path, groups, is_list=True)


def _problem_of_conditions(data: Json) -> str:
    if data.__class__ is dict:
        lists = [data[name] for name in ("any", "all") if data.get(name) is not None]
    else:
        lists = [data]
    for conditions in lists:
        if conditions.__class__ is not list:
            return "conditions must be a list, or a mapping with lists `any` and `all`"
        if any(one.__class__ is not dict for one in conditions):
            return "a condition must be a mapping"
        for name in ("operator", "message"):
            if any(one.get(name, "").__class__ not in {str, type(None)} for one in conditions):
                return f"`{name}` of a condition must be text"
    return ""


def _is_group(data: Mapping[str, Json]) -> bool:
    """Return whether an item of a list is a group, and not a bare condition.

    upstream reads the items of most lists as conditions, whatever else they have. One without an
    operator is refused, or an error when it is evaluated.
    """
    has_lists = "any" in data or "all" in data
    return has_lists and not data.get("operator") and not _problem_of_conditions(data)


def _list_item(data: Mapping[str, Json], path: Path) -> tree.ConditionGroup:
    if _is_group(data):
        return _condition_group(data, path)
    return tree.ConditionGroup(path, None, (_condition(data, path),), is_bare=True)


def _condition_group(data: Mapping[str, Json], path: Path) -> tree.ConditionGroup:
    return tree.ConditionGroup(
        path,
        _each(data.get("any"), (*path, "any"), _condition),
        _each(data.get("all"), (*path, "all"), _condition),
    )


def _condition(data: Mapping[str, Json], path: Path) -> tree.Condition:
    return tree.Condition(
        path, data.get("key"), _text(data, "operator"), data.get("value"), _text(data, "message")
    )


# Match and exclude blocks.


def read_match(data: Json, path: Path) -> tree.MatchBlock:
    """Return a match or exclude block, empty where there is none."""
    block = _map(data)
    return tree.MatchBlock(
        path,
        _each(block.get("any"), (*path, "any"), _filter),
        _each(block.get("all"), (*path, "all"), _filter),
        _filter(block, path),
    )


def _exclude(data: Mapping[str, Json], path: Path) -> tree.MatchBlock | None:
    found = data.get("exclude")
    return None if found is None else read_match(found, (*path, "exclude"))


def _filter(data: Mapping[str, Json], path: Path) -> tree.ResourceFilter:
    resources = _map(data.get("resources"))
    return tree.ResourceFilter(
        path,
        frozenset(name for name, value in resources.items() if value is not None and value != ""),
        operations=_texts(resources.get("operations")) or (),
        kinds=_texts(resources.get("kinds")) or (),
        name=_text(resources, "name"),
        names=_texts(resources.get("names")) or (),
        namespaces=_texts(resources.get("namespaces")) or (),
        annotations=resources.get("annotations"),
        selector=resources.get("selector"),
        namespace_selector=resources.get("namespaceSelector"),
        roles=_texts(data.get("roles")),
        cluster_roles=_texts(data.get("clusterRoles")),
        subjects=_each(data.get("subjects"), (*path, "subjects"), _subject),
    )


def _subject(data: Mapping[str, Json], path: Path) -> tree.Subject:
    kind, name, namespace = (_text(data, field) for field in ("kind", "name", "namespace"))
    return tree.Subject(path, kind, name, namespace, data)


# Patterns and patches.


def read_pattern(data: Json, path: Path, under: Path = ()) -> tree.Pattern | None:
    """Return a pattern or a strategic merge patch, None where there is none.

    `under` names the fields under which autogen put what is written at the path.
    """
    return None if data is None else _pattern(data, path, under)


def _patterns(data: Json, path: Path, under: Path = ()) -> tuple[tree.Pattern, ...] | None:
    return _each(data, path, partial(_pattern, under=under))


def _pattern(data: Json, path: Path, under: Path) -> tree.Pattern:
    return tree.Pattern(path, data, pattern_node(data, path, under), under)


def with_data(pattern: tree.Pattern, data: Json) -> tree.Pattern:
    """Return a pattern with other data, such as its own with the variables filled in."""
    return pattern if data is pattern.data else _pattern(data, pattern.path, pattern.under)


def pattern_node(data: Json, path: Path, under: Path = ()) -> tree.PatternNode:
    """Return the tree of a pattern, or of a part of one, as `read_pattern` reads it."""
    if data.__class__ is dict:
        return pattern_map(data, path, under)
    if data.__class__ is list:
        items = tuple([pattern_node(one, (*path, index)) for index, one in enumerate(data)])
        return tree.PatternList(
            path, data, items, frozenset().union(*(one.anchors for one in items))
        )
    return tree.PatternLeaf(path, data)


def pattern_map(data: Mapping[str, Json], path: Path, under: Path = ()) -> tree.PatternMap:
    """Return the tree of a pattern that is a map, or of such a part of one."""
    entries: list[tree.PatternEntry] = []
    anchors: set[str] = set()
    for text, value in data.items():
        # A field that autogen put there has the position of what it contains.
        place = path if under else (*path, text)
        sign, key = parse_anchor(text) or (None, text)
        node = pattern_node(value, place, under[1:])
        entries.append(tree.PatternEntry(place, text, sign, key, node))
        anchors |= node.anchors if sign is None else {sign, *node.anchors}
    return tree.PatternMap(path, data, tuple(entries), frozenset(anchors))


def _json_patch(data: Json, path: Path) -> tree.JsonPatch | None:
    return tree.JsonPatch(path, data) if data.__class__ is str and data else None


# Context entries.


def read_context(data: Json, path: Path) -> tuple[tree.ContextEntry, ...]:
    """Return the entries of a `context` list. The schema requires one source for each."""
    return _each(data, path, _context_entry) or ()


def _context_entry(data: Mapping[str, Json], path: Path) -> tree.ContextEntry:
    field = next(one for one in CONTEXT_SOURCES if data.get(one) is not None)
    return CONTEXT_SOURCES[field](_text(data, "name"), data[field], path)


def _variable(name: str, data: Mapping[str, Json], path: Path) -> tree.ContextEntry:
    jmes_path = _text(data, "jmesPath")
    return tree.VariableEntry(path, name, data.get("value"), data.get("default"), jmes_path)


def _config_map(name: str, data: Mapping[str, Json], path: Path) -> tree.ContextEntry:
    return tree.ConfigMapEntry(path, name, _text(data, "name"), _text(data, "namespace"))


def _api_call(name: str, data: Mapping[str, Json], path: Path) -> tree.ContextEntry:
    return tree.ApiCallEntry(
        path,
        name,
        url_path=_text(data, "urlPath"),
        service=data.get("service"),
        default=data.get("default"),
        jmes_path=_text(data, "jmesPath"),
        call=data,
    )


def _global_reference(name: str, data: Mapping[str, Json], path: Path) -> tree.ContextEntry:
    return tree.GlobalReferenceEntry(path, name, _text(data, "name"), _text(data, "jmesPath"))


def _image_registry(name: str, data: Mapping[str, Json], path: Path) -> tree.ContextEntry:
    return tree.ImageRegistryEntry(path, name, _text(data, "reference"), _text(data, "jmesPath"))


CONTEXT_SOURCES: Mapping[str, Callable[[str, Mapping[str, Json], Path], tree.ContextEntry]] = (
    MappingProxyType(
        {
            "variable": _variable,
            "configMap": _config_map,
            "apiCall": _api_call,
            "globalReference": _global_reference,
            "imageRegistry": _image_registry,
        }
    )
)
"""The fields that a context entry may have besides its name, one of them in each entry."""


# Validation.


def _validate(data: Mapping[str, Json], path: Path, under: Path) -> tree.Validate:
    return tree.Validate(
        path,
        message=_text(data, "message"),
        failure_action=_text(data, "failureAction"),
        overrides=read_overrides(data, "failureActionOverrides", path),
        allow_existing_violations=data.get("allowExistingViolations"),
        pattern=read_pattern(data.get("pattern"), (*path, "pattern"), under),
        any_pattern=_patterns(data.get("anyPattern"), (*path, "anyPattern"), under),
        deny=_deny(data.get("deny"), (*path, "deny")),
        foreach=_each(data.get("foreach"), (*path, "foreach"), _foreach_validation),
        pod_security=_pod_security(data.get("podSecurity"), (*path, "podSecurity")),
        manifests=_manifests(data.get("manifests"), (*path, "manifests")),
        cel=_cel(data.get("cel"), (*path, "cel")),
        assertion=data.get("assert"),
        invalid_any_pattern=_invalid_any_pattern(data),
    )


def read_overrides(
    data: Mapping[str, Json], field: str, path: Path
) -> tuple[tree.FailureOverride, ...]:
    """Return the failure actions for some namespaces, of a rule or of a policy."""

    def override(one: Mapping[str, Json], place: Path) -> tree.FailureOverride:
        return tree.FailureOverride(
            place,
            _text(one, "action"),
            _texts(one.get("namespaces")),
            one.get("namespaceSelector"),
        )

    return _each(data.get(field), (*path, field), override) or ()


def _deny(data: Json, path: Path) -> tree.Deny | None:
    if data.__class__ is not dict:
        return None
    return tree.Deny(path, read_conditions(data.get("conditions"), (*path, "conditions")))


def _invalid_any_pattern(data: Mapping[str, Json]) -> Json:
    found = data.get("anyPattern")
    return None if found.__class__ is list else found


def _foreach_validation(data: Mapping[str, Json], path: Path) -> tree.ForEachValidation:
    return tree.ForEachValidation(
        path,
        list=_text(data, "list"),
        element_scope=data.get("elementScope"),
        context=read_context(data.get("context"), (*path, "context")),
        preconditions=read_conditions(data.get("preconditions"), (*path, "preconditions")),
        pattern=read_pattern(data.get("pattern"), (*path, "pattern")),
        any_pattern=_patterns(data.get("anyPattern"), (*path, "anyPattern")),
        deny=_deny(data.get("deny"), (*path, "deny")),
        foreach=_each(data.get("foreach"), (*path, "foreach"), _foreach_validation),
        invalid_any_pattern=_invalid_any_pattern(data),
    )


def _manifests(data: Json, path: Path) -> tree.Manifests | None:
    if data is None:
        return None
    return tree.Manifests(
        path,
        attestors=_attestor_sets(data, path),
        annotation_domain=_text(data, "annotationDomain"),
        ignore_fields=_each(data.get("ignoreFields"), (*path, "ignoreFields"), _ignored_fields)
        or (),
        repository=_text(data, "repository"),
    )


def _ignored_fields(data: Mapping[str, Json], path: Path) -> tree.IgnoredFields:
    objects = _each(data.get("objects"), (*path, "objects"), _manifest_object) or ()
    return tree.IgnoredFields(path, objects, _texts(data.get("fields")) or ())


def _manifest_object(data: Mapping[str, Json], path: Path) -> tree.ManifestObject:
    fields = ("group", "version", "kind", "namespace", "name")
    return tree.ManifestObject(path, *(_text(data, field) for field in fields))


def _pod_security(data: Json, path: Path) -> tree.PodSecurity | None:
    if data is None:
        return None
    exclude = read_pod_security_exclusions(data.get("exclude"), (*path, "exclude"))
    return tree.PodSecurity(path, _text(data, "level"), _text(data, "version"), exclude)


def read_pod_security_exclusions(data: Json, path: Path) -> tuple[tree.PodSecurityExclusion, ...]:
    """Return the controls that a rule leaves out, or an exception."""
    return _each(data, path, _pod_security_exclusion) or ()


def _pod_security_exclusion(data: Mapping[str, Json], path: Path) -> tree.PodSecurityExclusion:
    return tree.PodSecurityExclusion(
        path,
        _text(data, "controlName"),
        _texts(data.get("images")) or (),
        _text(data, "restrictedField"),
        _texts(data.get("values")) or (),
    )


def _cel(data: Json, path: Path) -> tree.CelValidation | None:
    if data is None:
        return None
    return tree.CelValidation(
        path,
        generate=data.get("generate"),
        expressions=read_expressions(data, "expressions", path),
        audit_annotations=read_named_expressions(data, "auditAnnotations", path),
        variables=read_named_expressions(data, "variables", path),
        param_kind=_param_kind(data.get("paramKind"), (*path, "paramKind")),
        param_ref=_param_ref(data.get("paramRef"), (*path, "paramRef")),
    )


def _param_kind(data: Json, path: Path) -> tree.ParamKind | None:
    if data is None:
        return None
    return tree.ParamKind(path, _text(data, "apiVersion"), _text(data, "kind"))


def _param_ref(data: Json, path: Path) -> tree.ParamRef | None:
    if data is None:
        return None
    return tree.ParamRef(
        path,
        name=_text(data, "name"),
        namespace=_text(data, "namespace"),
        selector=data.get("selector"),
        parameter_not_found_action=_text(data, "parameterNotFoundAction"),
    )


def _expression(data: Mapping[str, Json], path: Path) -> tree.CelExpression:
    return tree.CelExpression(
        path,
        _text(data, "expression"),
        _text(data, "message"),
        _text(data, "messageExpression"),
        _text(data, "reason"),
    )


def read_expressions(
    data: Mapping[str, Json], field: str, path: Path
) -> tuple[tree.CelExpression, ...]:
    """Return the validations in a field; null stands for an empty one."""
    listed = [one or {} for one in data.get(field) or ()]
    return _each(listed, (*path, field), _expression) or ()


def read_named_expressions(
    data: Mapping[str, Json], field: str, path: Path
) -> tuple[tree.NamedExpression, ...]:
    """Return the variables, match conditions or audit annotations in a field."""
    keys = ("key", "valueExpression") if field == "auditAnnotations" else ("name", "expression")

    def named(one: Mapping[str, Json], place: Path) -> tree.NamedExpression:
        return tree.NamedExpression(place, *(_text(one, key) for key in keys))

    return _each(data.get(field), (*path, field), named) or ()


# Mutation.


def _mutate(data: Mapping[str, Json], path: Path, under: Path) -> tree.Mutate:
    loop = partial(_foreach_mutation, under=under)
    return tree.Mutate(
        path,
        patch_strategic_merge=_merge_patch(data, path, under),
        patches_json6902=_json_patch(data.get("patchesJson6902"), (*path, "patchesJson6902")),
        foreach=_each(data.get("foreach"), (*path, "foreach"), loop),
        targets=_each(data.get("targets"), (*path, "targets"), _mutate_target),
        mutate_existing_on_policy_update=data.get("mutateExistingOnPolicyUpdate"),
    )


def _merge_patch(data: Mapping[str, Json], path: Path, under: Path) -> tree.Pattern | None:
    return read_pattern(data.get("patchStrategicMerge"), (*path, "patchStrategicMerge"), under)


def _foreach_mutation(data: Mapping[str, Json], path: Path, under: Path) -> tree.ForEachMutation:
    loop = partial(_foreach_mutation, under=under)
    return tree.ForEachMutation(
        path,
        list=_text(data, "list"),
        order=_text(data, "order"),
        context=read_context(data.get("context"), (*path, "context")),
        preconditions=read_conditions(data.get("preconditions"), (*path, "preconditions")),
        patch_strategic_merge=_merge_patch(data, path, under),
        patches_json6902=_json_patch(data.get("patchesJson6902"), (*path, "patchesJson6902")),
        foreach=_each(data.get("foreach"), (*path, "foreach"), loop),
    )


def _mutate_target(data: Mapping[str, Json], path: Path) -> tree.MutateTarget:
    return tree.MutateTarget(
        path,
        api_version=_text(data, "apiVersion"),
        kind=_text(data, "kind"),
        namespace=_text(data, "namespace"),
        name=_text(data, "name"),
        uid=_text(data, "uid"),
        selector=data.get("selector"),
        context=read_context(data.get("context"), (*path, "context")),
        preconditions=read_conditions(data.get("preconditions"), (*path, "preconditions")),
    )


# Generation.


def _generate(data: Mapping[str, Json], path: Path) -> tree.Generate:
    return tree.Generate(
        path,
        target=_generate_target(data, path),
        foreach=_each(data.get("foreach"), (*path, "foreach"), _foreach_generation),
        generate_existing=data.get("generateExisting"),
        synchronize=data.get("synchronize"),
        orphan_downstream_on_policy_delete=data.get("orphanDownstreamOnPolicyDelete"),
    )


def _generate_target(data: Mapping[str, Json], path: Path) -> tree.GenerateTarget:
    return tree.GenerateTarget(
        path,
        api_version=_text(data, "apiVersion"),
        kind=_text(data, "kind"),
        namespace=_text(data, "namespace"),
        name=_text(data, "name"),
        uid=_text(data, "uid"),
        data=data.get("data"),
        clone=_clone(data.get("clone"), (*path, "clone")),
        clone_list=_clone_list(data.get("cloneList"), (*path, "cloneList")),
    )


def _clone(data: Json, path: Path) -> tree.Clone | None:
    return None if data is None else tree.Clone(path, _text(data, "name"), _text(data, "namespace"))


def _clone_list(data: Json, path: Path) -> tree.CloneList | None:
    if data is None:
        return None
    kinds = _texts(data.get("kinds"))
    return tree.CloneList(path, kinds, _text(data, "namespace"), data.get("selector"))


def _foreach_generation(data: Mapping[str, Json], path: Path) -> tree.ForEachGeneration:
    return tree.ForEachGeneration(
        path,
        list=_text(data, "list"),
        context=read_context(data.get("context"), (*path, "context")),
        preconditions=read_conditions(data.get("preconditions"), (*path, "preconditions")),
        target=_generate_target(data, path),
    )


# Verification of images.


def _image_extractors(data: Json, path: Path) -> tuple[tree.ImageExtractors, ...] | None:
    if data is None:
        return None
    return tuple(
        tree.ImageExtractors(
            (*path, kind), kind, _each(listed, (*path, kind), _image_extractor) or ()
        )
        for kind, listed in data.items()
    )


def _image_extractor(data: Mapping[str, Json], path: Path) -> tree.ImageExtractor:
    fields = ("name", "path", "key", "value", "jmesPath")
    return tree.ImageExtractor(path, *(_text(data, field) for field in fields))


def read_image_verification(data: Mapping[str, Json], path: Path) -> tree.ImageVerification:
    """Return an entry of `verifyImages`, as it is written or with its variables filled in.

    The fields of older policies (`image`, `key`, `issuer` …) are put into today's.
    upstream: api/kyverno/v1/image_verification_types.go, Convert
    """
    image, annotations = _text(data, "image"), data.get("annotations") or {}
    attestors = _attestor_sets(data, path)
    attestations = _each(data.get("attestations"), (*path, "attestations"), _attestation) or ()
    key, issuer = _text(data, "key"), _text(data, "issuer")
    # Beside attestations the attestor is lost: upstream puts it into a copy of them, and the
    # originals back over the copy.
    if (key or issuer or (image and annotations)) and not attestations:
        keys = tree.Keys(path, key, "", None, "") if key else None
        subject, roots = _text(data, "subject"), _text(data, "roots")
        keyless = tree.Keyless(path, issuer, "", subject, "", roots)
        attestor = tree.Attestor(
            path,
            keys=keys,
            keyless=keyless if issuer and not key else None,
            annotations=annotations,
        )
        attestors = (*attestors, tree.AttestorSet(path, None, (attestor,)))
    return tree.ImageVerification(
        path,
        type=_text(data, "type"),
        image_references=(*(data.get("imageReferences") or ()), *((image,) if image else ())),
        skip_image_references=_texts(data.get("skipImageReferences")) or (),
        failure_action=_text(data, "failureAction"),
        attestors=attestors,
        attestations=attestations,
        annotations=annotations,
        validate=_image_validation(data.get("validate"), (*path, "validate")),
        mutate_digest=data.get("mutateDigest"),
        verify_digest=data.get("verifyDigest"),
        required=data.get("required"),
        data=data,
    )


def _image_validation(data: Json, path: Path) -> tree.ImageValidation | None:
    if not data:
        return None
    deny = _deny(data.get("deny"), (*path, "deny"))
    return tree.ImageValidation(path, _text(data, "message"), deny)


def _attestation(data: Mapping[str, Json], path: Path) -> tree.Attestation:
    return tree.Attestation(
        path,
        name=_text(data, "name"),
        type=_text(data, "type"),
        predicate_type=_text(data, "predicateType"),
        attestors=_attestor_sets(data, path),
        conditions=read_conditions(data.get("conditions"), (*path, "conditions")),
    )


def _attestor_sets(data: Mapping[str, Json], path: Path) -> tuple[tree.AttestorSet, ...]:
    return _each(data.get("attestors"), (*path, "attestors"), _attestor_set) or ()


def _attestor_set(data: Mapping[str, Json], path: Path) -> tree.AttestorSet:
    entries = _each(data.get("entries"), (*path, "entries"), _attestor) or ()
    return tree.AttestorSet(path, data.get("count"), entries)


def _attestor(data: Mapping[str, Json], path: Path) -> tree.Attestor:
    keys, certificates, keyless, inner = (
        data.get(name) for name in ("keys", "certificates", "keyless", "attestor")
    )
    return tree.Attestor(
        path,
        keys=None if keys is None else _keys(keys, (*path, "keys")),
        certificates=None
        if certificates is None
        else _certificates(certificates, (*path, "certificates")),
        keyless=None if keyless is None else _keyless(keyless, (*path, "keyless")),
        attestor=_attestor_set(inner, (*path, "attestor")) if inner.__class__ is dict else None,
        annotations=data.get("annotations"),
        repository=_text(data, "repository"),
    )


def _keys(data: Mapping[str, Json], path: Path) -> tree.Keys:
    public_keys, algorithm = _text(data, "publicKeys"), _text(data, "signatureAlgorithm")
    return tree.Keys(
        path,
        public_keys,
        _text(data, "kms"),
        data.get("secret"),
        algorithm,
        rekor=_rekor(data.get("rekor"), (*path, "rekor")),
        ctlog=_ctlog(data.get("ctlog"), (*path, "ctlog")),
    )


def _certificates(data: Mapping[str, Json], path: Path) -> tree.Certificates:
    return tree.Certificates(
        path,
        _text(data, "cert"),
        _text(data, "certChain"),
        rekor=_rekor(data.get("rekor"), (*path, "rekor")),
        ctlog=_ctlog(data.get("ctlog"), (*path, "ctlog")),
    )


def _keyless(data: Mapping[str, Json], path: Path) -> tree.Keyless:
    return tree.Keyless(
        path,
        issuer=_text(data, "issuer"),
        issuer_reg_exp=_text(data, "issuerRegExp"),
        subject=_text(data, "subject"),
        subject_reg_exp=_text(data, "subjectRegExp"),
        roots=_text(data, "roots"),
        additional_extensions=data.get("additionalExtensions"),
        rekor=_rekor(data.get("rekor"), (*path, "rekor")),
        ctlog=_ctlog(data.get("ctlog"), (*path, "ctlog")),
    )


def _rekor(data: Json, path: Path) -> tree.Rekor | None:
    if data is None:
        return None
    ignores = data.get("ignoreTlog") is True
    return tree.Rekor(path, _text(data, "url"), _text(data, "pubkey"), ignores)


def _ctlog(data: Json, path: Path) -> tree.CTLog | None:
    if data is None:
        return None
    ignores = data.get("ignoreSCT") is True
    return tree.CTLog(path, _text(data, "pubkey"), ignores, _text(data, "tsaCertChain"))


# Rules.


def read_rule(data: Mapping[str, Json], path: Path, under: Path = ()) -> tree.RuleNode:
    """Return a rule of a ClusterPolicy or Policy.

    `under` names the fields under which autogen put the patterns of a rule that it derived.
    """
    validate, mutate, generate = (data.get(name) for name in ("validate", "mutate", "generate"))
    images = (*path, "verifyImages")
    return tree.RuleNode(
        path,
        name=_text(data, "name"),
        context=read_context(data.get("context"), (*path, "context")),
        match=read_match(data.get("match"), (*path, "match")),
        exclude=_exclude(data, path),
        image_extractors=_image_extractors(data.get("imageExtractors"), (*path, "imageExtractors")),
        preconditions=read_conditions(data.get("preconditions"), (*path, "preconditions")),
        cel_preconditions=None
        if data.get("celPreconditions") is None
        else read_named_expressions(data, "celPreconditions", path),
        validate=None if validate is None else _validate(validate, (*path, "validate"), under),
        mutate=None if mutate is None else _mutate(mutate, (*path, "mutate"), under),
        generate=None if generate is None else _generate(generate, (*path, "generate")),
        verify_images=_each(data.get("verifyImages"), images, read_image_verification),
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


def read_policy(spec: Mapping[str, Json], path: Path) -> tree.PolicyNode:
    """Return the specification of a ClusterPolicy or Policy, without its rules."""
    return tree.PolicyNode(
        path,
        validation_failure_action=_text(spec, "validationFailureAction"),
        overrides=read_overrides(spec, "validationFailureActionOverrides", path),
        admission=spec.get("admission"),
        background=spec.get("background"),
        apply_rules=_text(spec, "applyRules"),
        emit_warning=spec.get("emitWarning"),
        failure_policy=_text(spec, "failurePolicy"),
        webhook=_webhook(spec.get("webhookConfiguration"), (*path, "webhookConfiguration")),
        webhook_timeout_seconds=spec.get("webhookTimeoutSeconds"),
        use_server_side_apply=spec.get("useServerSideApply"),
        mutate_existing_on_policy_update=spec.get("mutateExistingOnPolicyUpdate"),
        generate_existing=spec.get("generateExisting"),
        generate_existing_on_policy_update=spec.get("generateExistingOnPolicyUpdate"),
    )


def _webhook(data: Json, path: Path) -> tree.WebhookConfiguration | None:
    if data is None:
        return None
    return tree.WebhookConfiguration(
        path,
        failure_policy=_text(data, "failurePolicy"),
        timeout_seconds=data.get("timeoutSeconds"),
        match_conditions=read_named_expressions(data, "matchConditions", path),
    )


def read_cleanup_rule(spec: Mapping[str, Json], path: Path) -> tree.RuleNode:
    """Return the specification of a cleanup policy as a rule whose conditions come first."""
    return tree.NO_RULE._replace(
        path=path,
        context=read_context(spec.get("context"), (*path, "context")),
        match=read_match(spec.get("match"), (*path, "match")),
        exclude=_exclude(spec, path),
        preconditions=read_conditions(spec.get("conditions"), (*path, "conditions")),
        data=spec,
    )
