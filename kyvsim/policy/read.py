"""Documents to trees: readers of the nodes in `tree.py`, and what all readers use.

The schema of the kind has checked the document. Where it allows anything (conditions, patterns,
loops within loops), data of the wrong type is kept in the node, so that the message for it can be
Kyverno's own.
"""

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import TypeVar

from kyvsim.kubernetes.objects import Json, Path
from kyvsim.policy import tree
from kyvsim.policy.anchors import parse_anchor

_Node = TypeVar("_Node")


def _map(data: Json) -> Mapping[str, Json]:
    return data if data.__class__ is dict else {}


def read_text(data: Mapping[str, Json], name: str) -> str:
    """Return the text of a field, "" for anything else."""
    value = data.get(name)
    return value if value.__class__ is str else ""


def read_texts(data: Json) -> tuple[str, ...] | None:
    """Return the texts of a list, None where there is no list."""
    return None if data is None else tuple(data)


def read_each(
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
        read_each(data.get("any"), (*path, "any"), _condition),
        read_each(data.get("all"), (*path, "all"), _condition),
    )


def _condition(data: Mapping[str, Json], path: Path) -> tree.Condition:
    return tree.Condition(
        path,
        data.get("key"),
        read_text(data, "operator"),
        data.get("value"),
        read_text(data, "message"),
    )


# Match and exclude blocks.


def read_match(data: Json, path: Path) -> tree.MatchBlock:
    """Return a match or exclude block, empty where there is none."""
    block = _map(data)
    return tree.MatchBlock(
        path,
        read_each(block.get("any"), (*path, "any"), _filter),
        read_each(block.get("all"), (*path, "all"), _filter),
        _filter(block, path),
    )


def read_exclude(data: Mapping[str, Json], path: Path) -> tree.MatchBlock | None:
    """Return an exclude block, None where there is none."""
    found = data.get("exclude")
    return None if found is None else read_match(found, (*path, "exclude"))


def _filter(data: Mapping[str, Json], path: Path) -> tree.ResourceFilter:
    resources = _map(data.get("resources"))
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
        subjects=read_each(data.get("subjects"), (*path, "subjects"), _subject),
    )


def _subject(data: Mapping[str, Json], path: Path) -> tree.Subject:
    kind, name, namespace = (read_text(data, field) for field in ("kind", "name", "namespace"))
    return tree.Subject(path, kind, name, namespace, data)


# Patterns and patches.


def read_pattern(data: Json, path: Path, under: Path = ()) -> tree.Pattern | None:
    """Return a pattern or a strategic merge patch, None where there is none.

    `under` names the fields under which autogen put what is written at the path.
    """
    return None if data is None else _pattern(data, path, under)


def read_patterns(data: Json, path: Path, under: Path = ()) -> tuple[tree.Pattern, ...] | None:
    """Return the patterns of a list, None where there is no list."""
    return read_each(data, path, partial(_pattern, under=under))


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


# Context entries.


def read_context(data: Json, path: Path) -> tuple[tree.ContextEntry, ...]:
    """Return the entries of a `context` list. The schema requires one source for each."""
    return read_each(data, path, _context_entry) or ()


def _context_entry(data: Mapping[str, Json], path: Path) -> tree.ContextEntry:
    field = next(one for one in CONTEXT_SOURCES if data.get(one) is not None)
    return CONTEXT_SOURCES[field](read_text(data, "name"), data[field], path)


def _variable(name: str, data: Mapping[str, Json], path: Path) -> tree.ContextEntry:
    jmes_path = read_text(data, "jmesPath")
    return tree.VariableEntry(path, name, data.get("value"), data.get("default"), jmes_path)


def _config_map(name: str, data: Mapping[str, Json], path: Path) -> tree.ContextEntry:
    return tree.ConfigMapEntry(path, name, read_text(data, "name"), read_text(data, "namespace"))


def _api_call(name: str, data: Mapping[str, Json], path: Path) -> tree.ContextEntry:
    return tree.ApiCallEntry(
        path,
        name,
        url_path=read_text(data, "urlPath"),
        service=data.get("service"),
        default=data.get("default"),
        jmes_path=read_text(data, "jmesPath"),
        call=data,
    )


def _global_reference(name: str, data: Mapping[str, Json], path: Path) -> tree.ContextEntry:
    return tree.GlobalReferenceEntry(
        path, name, read_text(data, "name"), read_text(data, "jmesPath")
    )


def _image_registry(name: str, data: Mapping[str, Json], path: Path) -> tree.ContextEntry:
    return tree.ImageRegistryEntry(
        path, name, read_text(data, "reference"), read_text(data, "jmesPath")
    )


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


def read_deny(data: Json, path: Path) -> tree.Deny | None:
    """Return a `deny` block, None where there is none."""
    if data.__class__ is not dict:
        return None
    return tree.Deny(path, read_conditions(data.get("conditions"), (*path, "conditions")))


def read_pod_security(data: Json, path: Path) -> tree.PodSecurity | None:
    """Return a check of Pod Security Standards, None where there is none."""
    if data is None:
        return None
    exclude = read_pod_security_exclusions(data.get("exclude"), (*path, "exclude"))
    return tree.PodSecurity(path, read_text(data, "level"), read_text(data, "version"), exclude)


def read_pod_security_exclusions(data: Json, path: Path) -> tuple[tree.PodSecurityExclusion, ...]:
    """Return the controls that a rule leaves out, or an exception."""
    return read_each(data, path, _pod_security_exclusion) or ()


def _pod_security_exclusion(data: Mapping[str, Json], path: Path) -> tree.PodSecurityExclusion:
    return tree.PodSecurityExclusion(
        path,
        read_text(data, "controlName"),
        read_texts(data.get("images")) or (),
        read_text(data, "restrictedField"),
        read_texts(data.get("values")) or (),
    )
