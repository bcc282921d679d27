"""Checks that match and exclude blocks are well formed and select something."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from kyvsim.engine.match import criteria_of
from kyvsim.kubernetes.go_text import quote, to_json
from kyvsim.kubernetes.labels import selector_problem
from kyvsim.kubernetes.objects import Json, Path, path_text
from kyvsim.kubernetes.wildcard import has_wildcard, matches
from kyvsim.languages.classic.validation.rule_parts import (
    PLAIN_VARIABLE,
    RuleUnderCheck,
    patch_paths,
)
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.policy.rule import RuleNode
from kyvsim.policy.tree import ConditionGroup, MatchBlock, PatternMap, ResourceFilter

# upstream: api/kyverno/v1/{match_resources,resource_description,user_info}_types.go


class BlockProblem(NamedTuple):
    """A problem of a match or exclude block."""

    code: str
    message: str
    path: Path


def check_match_blocks(subject: RuleUnderCheck) -> Iterator[Diagnostic]:
    """Every filter of both blocks is well formed."""
    rule, policy = subject.rule.tree, subject.policy
    for block in filter(None, (rule.match, rule.exclude)):
        for one in block_problems(block, namespaced=policy.kind == "Policy"):
            yield subject.error(one.path, one.code, one.message)


def block_problems(block: MatchBlock, *, namespaced: bool) -> Iterator[BlockProblem]:
    """Yield the problems of a match or exclude block."""
    if block.any and block.all:
        text = f"{path_text(block.path)}: Invalid value: Can't specify any and all together"
        yield BlockProblem("KV123", text, block.path)
    for one in block.filters:
        yield from _user_problems(one)
        yield from _resource_problems(one, namespaced=namespaced)


def user_fields(block: MatchBlock) -> Iterator[Path]:
    """Yield the paths of the fields of a block that depend on the user."""
    for one in block.filters:
        for criterion in criteria_of(one):
            if criterion.without_user:
                yield (*one.path, criterion.field)


def user_problems(block: MatchBlock) -> Iterator[str]:
    """Yield upstream's error messages about the fields of a block that depend on the user."""
    for path in user_fields(block):
        yield f"{path_text(path)}: Forbidden: Usage of user info is forbidden"


def _user_problems(one: ResourceFilter) -> Iterator[BlockProblem]:
    for person in one.subjects or ():
        problems = []
        if not person.kind:
            problems.append("kind: Required value")
        elif person.kind not in {"User", "Group", "ServiceAccount"}:
            expected = "kind must be 'User', 'Group', or 'ServiceAccount'"
            problems.append(f"kind: Invalid value: {quote(person.kind)}: {expected}")
        if not person.name:
            problems.append("name: Required value")
        if person.kind == "ServiceAccount" and not person.namespace:
            reason = "namespace is required when Kind is ServiceAccount"
            problems.append(f"namespace: Required value: {reason}")
        for text in problems:
            yield BlockProblem("KV124", f"{path_text(person.path)}.{text}", person.path)
    for index, role in enumerate(one.roles or ()):
        if role.count(":") != 1:
            path = (*one.path, "roles", index)
            text = (
                f"{path_text(path)}: Invalid value: {quote(role)}: Role is expected to be in"
                " namespace:name format"
            )
            yield BlockProblem("KV124", text, path)


def _resource_problems(one: ResourceFilter, *, namespaced: bool) -> Iterator[BlockProblem]:
    place, path = path_text(one.path), (*one.path, "resources")
    if one.name and one.names:
        text = f"{place}: Invalid value: Both name and names can not be specified together"
        yield BlockProblem("KV123", text, path)
    problem = "" if one.selector is None else _selector_problem(one.selector)
    if problem:
        text = f"{place}.selector: Invalid value: {to_json(one.selector)}: {problem}"
        yield BlockProblem("KV125", text, (*path, "selector"))
    if namespaced and one.namespaces:
        text = (
            f"{place}.namespaces: Forbidden: Filtering namespaces not allowed in namespaced"
            " policies"
        )
        yield BlockProblem("KV123", text, (*path, "namespaces"))


def _selector_problem(selector: Mapping[str, Json]) -> str:
    """Return why a rule's selector is invalid, or "".

    Wildcards in `matchLabels` are Kyverno's own: a selector with them is not checked further.
    """
    labels = selector.get("matchLabels", {})
    if any(has_wildcard(key) or has_wildcard(value or "") for key, value in labels.items()):
        return ""
    if not labels and not selector.get("matchExpressions"):
        return "The requirements are not specified in selector"
    return selector_problem({**selector, "matchLabels": dict(sorted(labels.items()))})


# upstream: pkg/validation/policy/validate.go, validateResources


def check_match_presence(subject: RuleUnderCheck) -> Iterator[Diagnostic]:
    """Criteria are in `any`, in `all` or directly in the match block, which is not empty."""
    rule = subject.rule.tree
    for name, block in (("exclude", rule.exclude), ("match", rule.match)):
        if block is not None and (block.any or block.all) and block.own.has_resources:
            text = f"can't specify any/all together with {name} resources"
            message = f"path: {subject.text_path}.{name}.: {text}"
            yield subject.error((*subject.rule.path, name), "KV142", message)
    if not all(one.has_resources for one in rule.match.effective):
        text = f"path: {subject.text_path}.match.resources.: match resources not specified"
        yield subject.error(subject.rule.tree.match.path, "KV142", text)


# upstream: api/kyverno/v1/rule_types.go, ValidateMatchExcludeConflict


def check_empty_match(subject: RuleUnderCheck) -> Iterator[Diagnostic]:
    """The rule matches something that it does not exclude."""
    match, exclude = subject.rule.tree.match, subject.rule.tree.exclude
    if exclude is None or exclude.all or match.all:
        return
    path = None
    if match.any and exclude.any:
        selected = [*map(_fields, match.any)]
        path = next((one.path for one in exclude.any if _fields(one) in selected), None)
    elif not exclude.is_empty and _covers(match.own, exclude.own):
        path = exclude.path
    if path is not None:
        text = f"{subject.text_path}: Invalid value: Rule is matching an empty set"
        note = "note: this part of the exclude block excludes all that the rule matches: "
        how = "remove it, or add criteria to it"
        if exclude.any and len(exclude.any) > 1:
            how = "each item of `any` excludes on its own, so join it with those of another item"
        yield subject.error(path, "KV122", text)._replace(excerpt=(f"{note}{how}",))


def _fields(one: ResourceFilter) -> tuple[ResourceFilter, list[Json] | None]:
    """Return the criteria of a filter without paths, and its subjects."""
    subjects = None if one.subjects is None else [person.data for person in one.subjects]
    return one._replace(path=(), subjects=None), subjects


def _covers(selected: ResourceFilter, removed: ResourceFilter) -> bool:
    """Return whether legacy criteria exclude everything that those of the match block select.

    Criteria under `any` are not checked, so legacy criteria beside an `any` of the exclude
    block are rejected unless they have a selector or annotations, as in upstream.
    """
    if not (
        _contains_all(removed.roles, selected.roles)
        and _contains_all(removed.cluster_roles, selected.cluster_roles)
        and _contains_all(_fields(removed)[1], _fields(selected)[1])
    ):
        return False
    if removed.name and not matches(removed.name, selected.name):
        return False
    if removed.names:
        return any(matches(out, own) for out in removed.names for own in selected.names)
    return (
        _contains_all(removed.namespaces, selected.namespaces)
        and _contains_all(removed.kinds, selected.kinds)
        and _selects_all(selected.selector, removed.selector)
        and _selects_all(selected.namespace_selector, removed.namespace_selector)
        and selected.annotations == removed.annotations
    )


def _contains_all(removed: Sequence[object] | None, selected: Sequence[object] | None) -> bool:
    """Return whether a criterion of the exclude block excludes all values of the match block."""
    if not removed:
        return True
    return bool(selected) and all(entry in removed for entry in selected or ())


def _selects_all(selected: Mapping[str, Json] | None, removed: Mapping[str, Json] | None) -> bool:
    if selected is None or removed is None:
        return selected is removed
    if not _contains_all(removed.get("matchExpressions"), selected.get("matchExpressions")):
        return False
    labels = removed.get("matchLabels")
    if not labels:
        return True
    own = selected.get("matchLabels") or {}
    return bool(own) and all(labels.get(name) == value for name, value in own.items())


# Source of the rules: upstream pkg/validation/policy/validate.go

_ONLY_METADATA = (
    "policy can only deal with the metadata field of the resource if the rule does not match any"
    " kind"
)


_SPLIT = (
    "note: each filter needs `kinds`, and one filter of `any` is enough: write criteria that must "
    "all hold in one filter"
)


def check_wildcard_kinds(subject: RuleUnderCheck) -> Iterator[Diagnostic]:
    """A filter for all kinds is alone, outside of background mode, in a supported rule type."""
    for one in subject.rule.tree.filters:
        reason = _wildcard_problem(subject, one.kinds)
        if reason:
            text = f"path: {path_text(one.path)}.kinds: {reason}"
            yield subject.error((*one.path, "resources", "kinds"), "KV126", text)


def check_kinds_present(subject: RuleUnderCheck) -> Iterator[Diagnostic]:
    """Every filter of the match block has kinds."""
    match = subject.rule.tree.match
    if all(one.kinds for one in match.effective):
        return
    text = _ONLY_METADATA
    if _touches_only_metadata(subject.rule.tree):
        text = (
            "at least one element must be specified in a kind block, the kind attribute is "
            "mandatory when working with the resources element"
        )
    error = subject.error(match.path, "KV127", text)
    is_split = any(one.kinds for one in match.any or ())
    yield error._replace(excerpt=(_SPLIT,)) if is_split else error


def _wildcard_problem(subject: RuleUnderCheck, kinds: Sequence[str]) -> str:
    if "*" not in kinds:
        return ""
    if subject.policy.background:
        return (
            "wildcard policy not allowed in background mode. Set spec.background=false to disable"
            " background mode for this policy rule "
        )
    if len(kinds) > 1:
        return "wildcard policy can not deal with more than one kind"
    rule = subject.rule.tree
    validate = rule.validate
    if not rule.operations.isdisjoint({"generate", "verifyImages"}) or (
        validate and validate.foreach is not None
    ):
        return "wildcard policy does not support rule type"
    has_patterns = not rule.bodies.isdisjoint({("validate", "pattern"), ("validate", "anyPattern")})
    patterned = "mutate" in rule.operations or has_patterns
    if patterned and not _touches_only_metadata(rule):
        return _ONLY_METADATA
    conditions = validate.deny.conditions if validate and validate.deny else None
    if conditions and conditions.is_list and not all(map(_reads_metadata, conditions.groups)):
        return _ONLY_METADATA
    return ""


def _reads_metadata(item: ConditionGroup) -> bool:
    """Return whether an item of a list of conditions is a bare condition about metadata."""
    condition = item.all[0] if item.all else None
    if condition is None or condition.path != item.path:
        return False
    key = condition.key
    if key.__class__ is not str:
        return False
    if "request.object.metadata." in key:
        return True
    known = ("request.", "serviceAccountName", "serviceAccountNamespace")
    expressions = (found.strip("{} \t\n") for found in PLAIN_VARIABLE.findall(key))
    allowed = any(expression.startswith(known) for expression in expressions)
    return allowed and "request.object.spec" not in key


def _touches_only_metadata(rule: RuleNode) -> bool:
    mutate, validate = rule.mutate, rule.validate
    patterns = [mutate.patch_strategic_merge] if mutate else []
    if validate:
        patterns += [validate.pattern, *(validate.any_pattern or ())]
    for root in (pattern.root for pattern in patterns if pattern):
        if isinstance(root, PatternMap) and any(one.text != "metadata" for one in root.entries):
            return False
    patch = mutate.patches_json6902.text if mutate and mutate.patches_json6902 else ""
    # upstream does not parse YAML here
    paths = patch_paths(patch) if patch.lstrip().startswith("[") else []
    return all(path.startswith("/metadata") for path in paths)
