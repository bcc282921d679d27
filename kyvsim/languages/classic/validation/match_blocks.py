"""Match and exclude blocks: kinds, selectors and names are well formed and select something."""

from collections.abc import Iterable, Iterator

from kyvsim.engine.match.criteria import filters
from kyvsim.kubernetes.go_text import quote, to_json
from kyvsim.kubernetes.labels import selector_fault
from kyvsim.kubernetes.objects import Json
from kyvsim.kubernetes.wildcard import has_wildcard, matches
from kyvsim.languages.classic.validation.rule_parts import RuleUnderCheck, is_set, patch_paths
from kyvsim.languages.classic.validation.variables import PLAIN_VARIABLE
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.policy import Filter

# Match and exclude blocks: selectors, names, subjects and roles are well formed.
#
# upstream: api/kyverno/v1/{match_resources,resource_description,user_info}_types.go


_SUBJECT_KINDS = ("User", "Group", "ServiceAccount")


def check_match_blocks(subject: RuleUnderCheck) -> Iterator[Diagnostic]:
    """Every filter of both blocks is well formed."""
    for block in ("match", "exclude"):
        data = subject.data.get(block, {})
        if data.get("any") and data.get("all"):
            text = f"{subject.text_path}.{block}: Invalid value: Can't specify any and all together"
            yield subject.error("KV123", text, (block,))
        for entry in filters(subject.data, block):
            yield from _check_users(subject, entry)
            yield from _check_resources(subject, entry)


def user_fields(entries: Iterable[Filter]) -> Iterator[str]:
    """Yield the fields of filters that look at the user, each as a refusal of it."""
    for entry in entries:
        for field in ("roles", "clusterRoles", "subjects"):
            if entry.data.get(field):
                yield f"spec.{entry.text_path}.{field}: Forbidden: Usage of user info is forbidden"


def _check_users(subject: RuleUnderCheck, entry: Filter) -> Iterator[Diagnostic]:
    place = f"{subject.text_path}.{entry.text_path}"
    for index, person in enumerate(entry.data.get("subjects", ())):
        kind, problems = person.get("kind", ""), []
        if not kind:
            problems.append("kind: Required value")
        elif kind not in _SUBJECT_KINDS:
            expected = "kind must be 'User', 'Group', or 'ServiceAccount'"
            problems.append(f"kind: Invalid value: {quote(kind)}: {expected}")
        if not person.get("name"):
            problems.append("name: Required value")
        if kind == "ServiceAccount" and not person.get("namespace"):
            reason = "namespace is required when Kind is ServiceAccount"
            problems.append(f"namespace: Required value: {reason}")
        for text in problems:
            path = (*entry.path, "subjects", index)
            yield subject.error("KV124", f"{place}.subjects[{index}].{text}", path)
    for index, role in enumerate(entry.data.get("roles", ())):
        if role.count(":") != 1:
            text = (
                f"{place}.roles[{index}]: Invalid value: {quote(role)}: Role is expected to be in"
                " namespace:name format"
            )
            yield subject.error("KV124", text, (*entry.path, "roles", index))


def _check_resources(subject: RuleUnderCheck, entry: Filter) -> Iterator[Diagnostic]:
    resources = entry.resources
    place = f"{subject.text_path}.{entry.text_path}"
    path = (*entry.path, "resources")
    if resources.get("name") and resources.get("names"):
        text = f"{place}: Invalid value: Both name and names can not be specified together"
        yield subject.error("KV123", text, path)
    selector = resources.get("selector")
    problem = "" if selector is None else _selector_problem(selector)
    if problem:
        text = f"{place}.selector: Invalid value: {to_json(selector)}: {problem}"
        yield subject.error("KV125", text, (*path, "selector"))
    if subject.policy.kind == "Policy" and resources.get("namespaces"):
        text = (
            f"{place}.namespaces: Forbidden: Filtering namespaces not allowed in namespaced"
            " policies"
        )
        yield subject.error("KV123", text, (*path, "namespaces"))


def _selector_problem(selector: Json) -> str:
    """Return why a rule's selector is refused, or "".

    Wildcards in `matchLabels` are Kyverno's own: a selector with them is not checked further.
    """
    labels = selector.get("matchLabels", {})
    if any(has_wildcard(key) or has_wildcard(value or "") for key, value in labels.items()):
        return ""
    if not labels and not selector.get("matchExpressions"):
        return "The requirements are not specified in selector"
    return selector_fault({**selector, "matchLabels": dict(sorted(labels.items()))})


# A match block selects something, in one form only.
#
# upstream: pkg/validation/policy/validate.go, validateResources


def check_match_presence(subject: RuleUnderCheck) -> Iterator[Diagnostic]:
    """Criteria are under any, all or directly below, and there are some."""
    for block in ("exclude", "match"):
        data = subject.data.get(block, {})
        if (data.get("any") or data.get("all")) and data.get("resources"):
            text = f"can't specify any/all together with {block} resources"
            message = f"path: {subject.text_path}.{block}.: {text}"
            yield subject.error("KV142", message, (block,))
    match = subject.data.get("match", {})
    entries = match.get("any") or match.get("all") or [match]
    if not all(entry.get("resources") for entry in entries):
        text = f"path: {subject.text_path}.match.resources.: match resources not specified"
        yield subject.error("KV142", text, ("match",))


# The exclude block does not take away all that the match block selects.
#
# upstream: api/kyverno/v1/rule_types.go, ValidateMatchExcludeConflict


def check_empty_match(subject: RuleUnderCheck) -> Iterator[Diagnostic]:
    """Something can be matched and not excluded."""
    match, exclude = subject.data.get("match", {}), subject.data.get("exclude")
    if exclude is None or exclude.get("all") or match.get("all"):
        return
    if match.get("any") and exclude.get("any"):
        empty = any(entry in exclude["any"] for entry in match["any"])
    else:
        empty = is_set(exclude) and _covers(match, exclude)
    if empty:
        text = f"{subject.text_path}: Invalid value: Rule is matching an empty set"
        yield subject.error("KV122", text, ("exclude",))


def _covers(match: Json, exclude: Json) -> bool:
    """Return whether legacy criteria exclude everything that `match` selects.

    Criteria under `any` are not checked, so legacy criteria beside an `any` of the exclude
    block are refused unless they have a selector or annotations, as upstream does.
    """
    selected, removed = match.get("resources", {}), exclude.get("resources", {})
    users = ("roles", "clusterRoles", "subjects")
    if not all(_contains_all(exclude.get(name), match.get(name)) for name in users):
        return False
    name = removed.get("name")
    if name and not matches(name, selected.get("name", "")):
        return False
    if removed.get("names"):
        return any(
            matches(out, own) for out in removed["names"] for own in selected.get("names", ())
        )
    return (
        _contains_all(removed.get("namespaces"), selected.get("namespaces"))
        and _contains_all(removed.get("kinds"), selected.get("kinds"))
        and _selects_all(selected.get("selector"), removed.get("selector"))
        and _selects_all(selected.get("namespaceSelector"), removed.get("namespaceSelector"))
        and selected.get("annotations") == removed.get("annotations")
    )


def _contains_all(removed: list[Json] | None, selected: list[Json] | None) -> bool:
    """Return whether a criterion of the exclude block lets nothing of the match block go."""
    if not removed:
        return True
    return bool(selected) and all(entry in removed for entry in selected or ())


def _selects_all(selected: Json, removed: Json) -> bool:
    if selected is None or removed is None:
        return selected is removed
    if not _contains_all(removed.get("matchExpressions"), selected.get("matchExpressions")):
        return False
    labels = removed.get("matchLabels")
    if not labels:
        return True
    own = selected.get("matchLabels")
    return bool(own) and all(labels.get(name) == value for name, value in own.items())


# Kinds in match and exclude blocks: when `*` is allowed, and that there are any.
#
# Source of the rules: upstream pkg/validation/policy/validate.go


_ONLY_METADATA = (
    "policy can only deal with the metadata field of the resource if the rule does not match any"
    " kind"
)
_NO_KIND = (
    "at least one element must be specified in a kind block, the kind attribute is mandatory when"
    " working with the resources element"
)
_KNOWN_ANYWHERE = ("request.", "serviceAccountName", "serviceAccountNamespace")


def check_wildcard_kinds(subject: RuleUnderCheck) -> Iterator[Diagnostic]:
    """A filter for all kinds is alone, outside of background mode, in a suitable rule."""
    for block in ("match", "exclude"):
        for entry in filters(subject.data, block):
            reason = _wildcard_problem(subject, entry)
            if reason:
                text = f"path: {subject.text_path}.{entry.text_path}.kinds: {reason}"
                yield subject.error("KV126", text, (*entry.path, "resources", "kinds"))


def check_kinds_present(subject: RuleUnderCheck) -> Iterator[Diagnostic]:
    """Every filter of the match block names kinds."""
    match = subject.data.get("match", {})
    entries = match.get("any") or match.get("all") or [match]
    if all(entry.get("resources", {}).get("kinds") for entry in entries):
        return
    text = _NO_KIND if _touches_only_metadata(subject.data) else _ONLY_METADATA
    yield subject.error("KV127", text, ("match",))


def _wildcard_problem(subject: RuleUnderCheck, entry: Filter) -> str:
    if "*" not in entry.kinds:
        return ""
    if subject.policy.background:
        return (
            "wildcard policy not allowed in background mode. Set spec.background=false to disable"
            " background mode for this policy rule "
        )
    if len(entry.kinds) > 1:
        return "wildcard policy can not deal with more than one kind"
    data = subject.data
    validate = data.get("validate", {})
    operations = subject.rule.tree.operations
    if not operations.isdisjoint({"generate", "verifyImages"}) or "foreach" in validate:
        return "wildcard policy does not support rule type"
    patterned = "pattern" in validate or "anyPattern" in validate or "mutate" in operations
    if patterned and not _touches_only_metadata(data):
        return _ONLY_METADATA
    conditions = validate.get("deny", {}).get("conditions")
    if conditions.__class__ is list and not all(map(_reads_metadata, conditions)):
        return _ONLY_METADATA
    return ""


def _reads_metadata(condition: Json) -> bool:
    key = condition.get("key")
    if key.__class__ is not str:
        return False
    if "request.object.metadata." in key:
        return True
    expressions = (found.strip("{} \t\n") for found in PLAIN_VARIABLE.findall(key))
    allowed = any(expression.startswith(_KNOWN_ANYWHERE) for expression in expressions)
    return allowed and "request.object.spec" not in key


def _touches_only_metadata(data: Json) -> bool:
    mutate, validate = data.get("mutate", {}), data.get("validate", {})
    patterns = [mutate.get("patchStrategicMerge"), validate.get("pattern")]
    if validate.get("anyPattern").__class__ is list:
        patterns += validate["anyPattern"]
    for pattern in patterns:
        if pattern.__class__ is dict and any(key != "metadata" for key in pattern):
            return False
    patch = mutate.get("patchesJson6902", "")
    # upstream does not read YAML here
    paths = patch_paths(patch) if patch.lstrip().startswith("[") else []
    return all(path.startswith("/metadata") for path in paths)
