"""Match and exclude blocks: selectors, names, subjects and roles are well formed.

upstream: api/kyverno/v1/{match_resources,resource_description,user_info}_types.go
"""

from collections.abc import Iterable, Iterator

from kyvsim.kube.go_text import quote, to_json
from kyvsim.languages.classic.checks.label_selectors import selector_problem
from kyvsim.languages.classic.checks.refusal import RuleUnderCheck
from kyvsim.match.criteria import filters
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.policy import Filter

_SUBJECT_KINDS = ("User", "Group", "ServiceAccount")


def check_match_blocks(subject: RuleUnderCheck) -> Iterator[Diagnostic]:
    """Every filter of both blocks is well formed."""
    for block in ("match", "exclude"):
        data = subject.data.get(block, {})
        if data.get("any") and data.get("all"):
            text = f"{subject.text_path}.{block}: Invalid value: Can't specify any and all together"
            yield subject.refuse("KV123", text, (block,))
        for entry in filters(subject.data, block):
            yield from _check_subjects(subject, entry)
            yield from _check_roles(subject, entry)
            yield from _check_resources(subject, entry)


def user_fields(entries: Iterable[Filter]) -> Iterator[str]:
    """Yield the fields of filters that look at the user, each as a refusal of it."""
    for entry in entries:
        for field in ("roles", "clusterRoles", "subjects"):
            if entry.data.get(field):
                yield f"spec.{entry.text_path}.{field}: Forbidden: Usage of user info is forbidden"


def _check_subjects(subject: RuleUnderCheck, entry: Filter) -> Iterator[Diagnostic]:
    for index, person in enumerate(entry.data.get("subjects", ())):
        place = f"{subject.text_path}.{entry.text_path}.subjects[{index}]"
        path = (*entry.path, "subjects", index)
        kind = person.get("kind", "")
        if not kind:
            yield subject.refuse("KV124", f"{place}.kind: Required value", path)
        elif kind not in _SUBJECT_KINDS:
            text = (
                f"{place}.kind: Invalid value: {quote(kind)}: kind must be 'User', 'Group', or"
                " 'ServiceAccount'"
            )
            yield subject.refuse("KV124", text, path)
        if not person.get("name"):
            yield subject.refuse("KV124", f"{place}.name: Required value", path)
        if kind == "ServiceAccount" and not person.get("namespace"):
            text = (
                f"{place}.namespace: Required value: namespace is required when Kind is"
                " ServiceAccount"
            )
            yield subject.refuse("KV124", text, path)


def _check_roles(subject: RuleUnderCheck, entry: Filter) -> Iterator[Diagnostic]:
    for index, role in enumerate(entry.data.get("roles", ())):
        if role.count(":") != 1:
            text = (
                f"{subject.text_path}.{entry.text_path}.roles[{index}]: Invalid value:"
                f" {quote(role)}: Role is expected to be in namespace:name format"
            )
            yield subject.refuse("KV124", text, (*entry.path, "roles", index))


def _check_resources(subject: RuleUnderCheck, entry: Filter) -> Iterator[Diagnostic]:
    resources = entry.resources
    place = f"{subject.text_path}.{entry.text_path}"
    path = (*entry.path, "resources")
    if resources.get("name") and resources.get("names"):
        text = f"{place}: Invalid value: Both name and names can not be specified together"
        yield subject.refuse("KV123", text, path)
    selector = resources.get("selector")
    problem = ""
    if selector is not None:
        problem = selector_problem(selector)
    if problem:
        text = f"{place}.selector: Invalid value: {to_json(selector)}: {problem}"
        yield subject.refuse("KV125", text, (*path, "selector"))
    if subject.policy.kind == "Policy" and resources.get("namespaces"):
        text = (
            f"{place}.namespaces: Forbidden: Filtering namespaces not allowed in namespaced"
            " policies"
        )
        yield subject.refuse("KV123", text, (*path, "namespaces"))
