"""What `matchConstraints` mention: kinds, operations, names, labels."""

from collections.abc import Iterator

from kyvsim.kubernetes.discovery import guessed_kind, kind_of_plural
from kyvsim.kubernetes.objects import Json
from kyvsim.languages.mentioned import Notebook
from kyvsim.model.policy import About


def read_constraints(written: Json, notes: Notebook) -> None:
    """Note what the constraints of a policy name."""
    constraints = written or {}
    for field in ("resourceRules", "excludeResourceRules"):
        for rule in constraints.get(field) or ():
            notes.note(About.KIND, (), _kinds(rule))
            notes.note(About.REQUEST, ("operation",), rule.get("operations") or ())
            if rule.get("resourceNames"):
                notes.note(About.OBJECT, ("metadata", "name"), rule["resourceNames"])
    read_selector(constraints.get("objectSelector"), About.OBJECT, notes)
    read_selector(constraints.get("namespaceSelector"), About.NAMESPACE, notes)


def read_selector(selector: Json, about: About, notes: Notebook) -> None:
    """Note the labels that a selector asks for."""
    if selector.__class__ is not dict:
        return
    for key, value in (selector.get("matchLabels") or {}).items():
        notes.note(about, ("metadata", "labels", key), (value,))
    for one in selector.get("matchExpressions") or ():
        notes.note(about, ("metadata", "labels", one["key"]), one.get("values") or ())


def _kinds(rule: Json) -> Iterator[str]:
    groups = rule.get("apiGroups") or ("*",)
    for resource in rule.get("resources") or ("*",):
        name, _, part = resource.partition("/")
        # What one of the groups is known to have is in no other.
        known = {one: kind for one in groups if (kind := kind_of_plural(one, name))}
        for group in known or groups:
            kind = "*" if name == "*" else known.get(group) or guessed_kind(name)
            for version in rule.get("apiVersions") or ("*",):
                yield "/".join((group, version, kind, *((part,) if part else ())))
