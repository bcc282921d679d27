"""Reads documents into trees: readers of the nodes in `tree.py`, and common functions.

The schema of the kind has validated the document. Where it allows any data (conditions, patterns,
nested loops), values of the wrong type are stored in the node, so that the error message is
Kyverno's.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TypeVar

from kyvsim.kubernetes.objects import Json, Path
from kyvsim.policy import tree
from kyvsim.policy.anchors import parse_anchor

_Node = TypeVar("_Node")


def read_text(data: Mapping[str, object], name: str) -> str:
    """Return the string in a field, "" for any other value."""
    value = data.get(name)
    return value if value.__class__ is str else ""


def texts_of(data: Mapping[str, object], *names: str) -> Iterator[str]:
    """Yield the strings in fields, like `read_text`."""
    return (read_text(data, name) for name in names)


def read_texts(data: Json) -> tuple[str, ...] | None:
    """Return the strings of a list, None if it is not a list."""
    return None if data is None else tuple(data)


def read_each(
    data: object, path: Path, read: Callable[[Mapping[str, object], Path], _Node]
) -> tuple[_Node, ...] | None:
    """Return the nodes of a list of maps, None if it is not a list."""
    if data.__class__ is not list:
        return None
    return tuple(read(one, (*path, index)) for index, one in enumerate(data))


def read_section(
    data: Mapping[str, Json], field: str, path: Path, read: Callable[[Json, Path], _Node]
) -> _Node | None:
    """Return the node of the value in a field, None if the field is missing."""
    found = data.get(field)
    return None if found is None else read(found, (*path, field))


def read_conditions(data: Json, path: Path) -> tree.Conditions | None:
    """Return a block of conditions, None if there is none.

    upstream drops a policy whose conditions have another form when it reads it.
    """
    if data is None:
        return None
    is_list = data.__class__ is list
    problem = _problem_of_conditions(data)
    if problem:
        return tree.Conditions(path, (), is_list, problem)

    def group(one: Mapping[str, object], place: Path) -> tree.ConditionGroup:
        return tree.ConditionGroup(
            place,
            read_each(one.get("any"), (*place, "any"), _condition),
            read_each(one.get("all"), (*place, "all"), _condition),
        )

    def item(one: Mapping[str, object], place: Path) -> tree.ConditionGroup:
        # upstream reads the items of most lists as conditions, whatever else they contain. One
        # without an operator is rejected, or fails when it is evaluated.
        has_lists = "any" in one or "all" in one
        if has_lists and not one.get("operator") and not _problem_of_conditions(one):
            return group(one, place)
        return tree.ConditionGroup(place, None, (_condition(one, place),), is_bare=True)

    groups = (read_each(data, path, item) or ()) if is_list else (group(data, path),)
    return tree.Conditions(path, groups, is_list)


def _problem_of_conditions(data: object) -> str:
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


def _condition(data: Mapping[str, object], path: Path) -> tree.Condition:
    operator, message = texts_of(data, "operator", "message")
    return tree.Condition(path, data.get("key"), operator, data.get("value"), message)


def read_match(data: object, path: Path) -> tree.MatchBlock:
    """Return a match or exclude block, empty if there is none."""
    block = data if data.__class__ is dict else {}
    return tree.MatchBlock(
        path,
        read_each(block.get("any"), (*path, "any"), _filter),
        read_each(block.get("all"), (*path, "all"), _filter),
        _filter(block, path),
    )


def _filter(data: Mapping[str, object], path: Path) -> tree.ResourceFilter:
    resources = data.get("resources")
    if resources.__class__ is not dict:
        resources = {}

    def subject(one: Mapping[str, object], place: Path) -> tree.Subject:
        kind, name, namespace = texts_of(one, "kind", "name", "namespace")
        return tree.Subject(place, kind, name, namespace, one)

    return tree.ResourceFilter(
        path,
        frozenset(name for name, value in resources.items() if value is not None and value != ""),
        operations=read_texts(resources.get("operations")) or (),
        kinds=read_texts(resources.get("kinds")) or (),
        name=read_text(resources, "name"),
        names=read_texts(resources.get("names")) or (),
        namespaces=read_texts(resources.get("namespaces")) or (),
        annotations=resources.get("annotations"),
        selector=resources.get("selector"),
        namespace_selector=resources.get("namespaceSelector"),
        roles=read_texts(data.get("roles")),
        cluster_roles=read_texts(data.get("clusterRoles")),
        subjects=read_each(data.get("subjects"), (*path, "subjects"), subject),
    )


def read_pattern(data: object, path: Path, under: Path = ()) -> tree.Pattern | None:
    """Return a pattern or a strategic merge patch, None if there is none.

    `under` are the fields to which autogen moved the value at the path.
    """
    return None if data is None else _pattern(data, path, under)


def read_patterns(data: object, path: Path, under: Path = ()) -> tuple[tree.Pattern, ...] | None:
    """Return the patterns of a list, None if it is not a list."""
    return read_each(data, path, partial(_pattern, under=under))


def _pattern(data: object, path: Path, under: Path) -> tree.Pattern:
    return tree.Pattern(path, data, pattern_node(data, path, under), under)


def with_data(pattern: tree.Pattern, data: object) -> tree.Pattern:
    """Return a pattern with other data, such as the same with replaced variables."""
    return pattern if data is pattern.data else _pattern(data, pattern.path, pattern.under)


def pattern_node(data: object, path: Path, under: Path = ()) -> tree.PatternNode:
    """Return the tree of a pattern, or of a part of one, like `read_pattern`."""
    if data.__class__ is dict:
        return pattern_map(data, path, under)
    if data.__class__ is list:
        items = tuple([pattern_node(one, (*path, index)) for index, one in enumerate(data)])
        return tree.PatternList(
            path, data, items, frozenset().union(*(one.anchors for one in items))
        )
    return tree.PatternLeaf(path, data)


def pattern_map(data: Mapping[str, object], path: Path, under: Path = ()) -> tree.PatternMap:
    """Return the tree of a map in a pattern."""
    entries: list[tree.PatternEntry] = []
    anchors: set[str] = set()
    for text, value in data.items():
        # A field that autogen added has the position of its content.
        place = path if under else (*path, text)
        sign, key = parse_anchor(text) or (None, text)
        node = pattern_node(value, place, under[1:])
        entries.append(tree.PatternEntry(place, text, sign, key, node))
        anchors |= node.anchors if sign is None else {sign, *node.anchors}
    return tree.PatternMap(path, data, tuple(entries), frozenset(anchors))


def read_context(data: Json, path: Path) -> tuple[tree.ContextEntry, ...]:
    """Return the entries of a `context` list. The schema requires one source for each."""

    def entry(one: Mapping[str, Json], place: Path) -> tree.ContextEntry:
        field = next(field for field in CONTEXT_SOURCES if one.get(field) is not None)
        return CONTEXT_SOURCES[field](read_text(one, "name"), one[field], place)

    return read_each(data, path, entry) or ()


CONTEXT_SOURCES: Mapping[str, Callable[[str, Mapping[str, Json], Path], tree.ContextEntry]] = {
    "variable": lambda name, data, path: tree.VariableEntry(
        path, name, data.get("value"), data.get("default"), read_text(data, "jmesPath")
    ),
    "configMap": lambda name, data, path: tree.ConfigMapEntry(
        path, name, *texts_of(data, "name", "namespace")
    ),
    "apiCall": lambda name, data, path: tree.ApiCallEntry(
        path,
        name,
        url_path=read_text(data, "urlPath"),
        service=data.get("service"),
        default=data.get("default"),
        jmes_path=read_text(data, "jmesPath"),
        call=data,
    ),
    "globalReference": lambda name, data, path: tree.GlobalReferenceEntry(
        path, name, *texts_of(data, "name", "jmesPath")
    ),
    "imageRegistry": lambda name, data, path: tree.ImageRegistryEntry(
        path, name, *texts_of(data, "reference", "jmesPath")
    ),
}
"""The fields of a context entry besides its name; each entry has one of them."""


def read_deny(data: object, path: Path) -> tree.Deny | None:
    """Return a `deny` block, None if there is none."""
    if data.__class__ is not dict:
        return None
    return tree.Deny(path, read_conditions(data.get("conditions"), (*path, "conditions")))


def read_pod_security(data: Mapping[str, Json], path: Path) -> tree.PodSecurity:
    """Return a check of Pod Security Standards."""
    exclude = read_pod_security_exclusions(data.get("exclude"), (*path, "exclude"))
    return tree.PodSecurity(path, read_text(data, "level"), read_text(data, "version"), exclude)


def read_pod_security_exclusions(data: object, path: Path) -> tuple[tree.PodSecurityExclusion, ...]:
    """Return the controls that a rule or an exception excludes."""

    def exclusion(one: Mapping[str, object], place: Path) -> tree.PodSecurityExclusion:
        control, field = texts_of(one, "controlName", "restrictedField")
        images, values = (read_texts(one.get(name)) or () for name in ("images", "values"))
        return tree.PodSecurityExclusion(place, control, images, field, values)

    return read_each(data, path, exclusion) or ()


def read_named_expressions(
    data: Mapping[str, object], field: str, path: Path
) -> tuple[tree.NamedExpression, ...]:
    """Return the variables, match conditions or audit annotations in a field, () for none."""
    names = ("key", "valueExpression") if field == "auditAnnotations" else ("name", "expression")

    def expression(one: Mapping[str, object], place: Path) -> tree.NamedExpression:
        return tree.NamedExpression(place, *texts_of(one, *names))

    return read_each(data.get(field), (*path, field), expression) or ()
