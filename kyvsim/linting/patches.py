"""Checks of patches: paths and removals of JSON patches, elements that a merge adds by mistake."""

import json
import re
from collections.abc import Iterator

from kyvsim.engine.compile.compiled import warn
from kyvsim.kubernetes.wildcard import has_wildcard
from kyvsim.languages.classic.validation.rule_parts import (
    mask_variables,
    operations_of,
    patch_operations,
)
from kyvsim.linting.cel_mutations import steps_of
from kyvsim.linting.cel_policy import CelPolicy
from kyvsim.linting.fields import patches
from kyvsim.linting.traversal import nodes_of
from kyvsim.model.diagnostic import ChangeKind, Diagnostic, Fix, change
from kyvsim.model.policy import Policy, Rule
from kyvsim.model.source import place_in_text
from kyvsim.policy.rule import ForEachMutation, JsonPatch
from kyvsim.policy.tree import PatternLeaf, PatternList, PatternMap
from kyvsim.policy.visit import walk

_STRING_MAPS = frozenset({"labels", "annotations", "matchLabels", "nodeSelector"})


def misread_paths(policy: Policy) -> Iterator[Diagnostic]:
    """KV330: a path of a JSON patch with a wildcard, an index in brackets, or a key with slashes.

    upstream: RFC 6901, which has no wildcards, and escapes `/` as `~1`
    """
    for rule in policy.rules:
        for patch in nodes_of(rule) if rule.tree.mutate else ():
            if not isinstance(patch, JsonPatch):
                continue
            for _, path in patch_operations(patch.text):
                problem = _path_problem(path) or _name_in_list(path)
                if problem:
                    yield _at_text(policy, patch, path, "KV330", problem)


def unreadable_json(policy: Policy) -> Iterator[Diagnostic]:
    """KV348: a JSON patch that begins with `[` and is not JSON, so it cannot be applied.

    upstream: pkg/engine/mutate/patch/patchesUtils.go `ConvertPatchesToJSON`
    """
    for rule in policy.rules:
        for patch in nodes_of(rule) if rule.tree.mutate else ():
            if not isinstance(patch, JsonPatch) or not patch.text.startswith("["):
                continue
            try:
                json.loads(mask_variables(patch.text, "0"))
            except ValueError:
                text = (
                    "a patch that begins with `[` is read as JSON, which this is not: put its keys "
                    "and strings in double quotes, or write a list in YAML, with each operation "
                    "after `-`"
                )
                yield warn(policy.document, "KV348", text, patch.path)


_AT_INDEX = re.compile(r"\{\{\s*elementIndex\d*\s*\}\}/?$")


def ascending_removals(policy: Policy) -> Iterator[Diagnostic]:
    """KV319: elements that are removed by index, the first one first.

    upstream: pkg/engine/mutate, which applies the patches of all elements in order; RFC 6902
    """
    for rule in policy.rules:
        yield from _removals_of_moved_elements(policy, rule)
        pending = [*(rule.tree.mutate.foreach or ())] if rule.tree.mutate else []
        for loop in pending:
            pending += loop.foreach or ()
            if loop.order != "Descending" and _removes_elements(loop):
                text = (
                    "each removal moves the elements after it, so the next index is that of "
                    "another element: set `order: Descending`"
                )
                add = change(
                    policy.document, ChangeKind.ENTRY, (*loop.path, "list"), _ordered(loop)
                )
                fix = None if loop.order else Fix("set `order: Descending`", (add,))
                yield warn(policy.document, "KV319", text, loop.path, fix=fix)


def _ordered(loop: ForEachMutation) -> str:
    return f"list: {json.dumps(loop.list, ensure_ascii=False)}\norder: Descending"


def _removes_elements(loop: ForEachMutation) -> bool:
    patch = loop.patches_json6902
    operations = patch_operations(patch.text) if patch else []
    names = {op for op, path in operations if _AT_INDEX.search(path)}
    return "remove" in names and "add" not in names  # both leave the number of elements


_TEXT = re.compile(r"/(?:[\w/]+/)?metadata/(?:labels|annotations)/([^/]+)")


def values_of_texts(policy: Policy) -> Iterator[Diagnostic]:
    """KV327 for labels and annotations that a JSON patch sets: all are strings."""
    for rule in policy.rules:
        for patch in nodes_of(rule) if rule.tree.mutate else ():
            if not isinstance(patch, JsonPatch) or "/metadata/" not in patch.text:
                continue
            for operation in operations_of(patch.text):
                path, value = operation.get("path"), operation.get("value")
                found = _TEXT.fullmatch(path) if isinstance(path, str) else None
                if found and isinstance(value, bool | int | float):
                    name = found[1].replace("~1", "/")
                    text = f"an API server rejects this value: `{name}` must be a string, in quotes"
                    yield _at_text(policy, patch, found[0], "KV327", text)


_ELEMENT = re.compile(r"(.*)/(\d+)")


def _removals_of_moved_elements(policy: Policy, rule: Rule) -> Iterator[Diagnostic]:
    """Yield constant removals of elements after one that was removed from the same list."""
    for patch in nodes_of(rule) if rule.tree.mutate else ():
        if not isinstance(patch, JsonPatch):
            continue
        removed: dict[str, int] = {}
        for op, path in patch_operations(patch.text):
            found = _ELEMENT.fullmatch(path) if op == "remove" else None
            if found is None:
                continue
            if removed.get(found[1], int(found[2])) < int(found[2]):
                text = (
                    f"`{path}` is another element here, because an earlier removal moved those "
                    "after it: remove the element with the largest index first"
                )
                yield _at_text(policy, patch, path, "KV319", text)
            removed[found[1]] = int(found[2])


def _at_text(policy: Policy, patch: JsonPatch, path: str, code: str, text: str) -> Diagnostic:
    """Return a warning at the position of a path in the text of a JSON patch."""
    found = warn(policy.document, code, text, patch.path)
    start = patch.text.find(path)
    if start < 0:
        return found
    place = place_in_text(policy.document, patch.path, patch.text, start)
    return found._replace(location=place)


def misread_paths_in_cel(policy: CelPolicy) -> Iterator[Diagnostic]:
    """KV330 for the constant paths of mutations in CEL."""
    for one in policy.expressions:
        for step in steps_of(one):
            problem = _path_problem(step.path)
            if problem:
                yield policy.warn("KV330", problem, one.path)


def _path_problem(path: str) -> str:
    """Return what is wrong with a path of a JSON patch, or ""."""
    names = path.split("/")[1:]
    for index, name in enumerate(names):
        rest = "/".join(names[index + 1 :])
        if name in {"*", "[*]", "[]"}:
            return (
                f"JSON patches have no wildcards, so `{path}` is not found: write a `foreach` over "
                "the list, and `{{ elementIndex }}` in the path"
            )
        if name.endswith("]") and "[" in name and "{{" not in name:
            meant = path.replace(name, name.replace("[", "/").replace("]", ""))
            return f"an index is a step of its own in the path of a JSON patch: write `{meant}`"
        if name in _STRING_MAPS and "/" in rest and "{{" not in rest:
            meant = path.removesuffix(rest) + rest.replace("/", "~1")
            return (
                f"`{path}` is not found, since the values of `{name}` are strings: `/` in a key is "
                f"`~1` (write `{meant}`)"
            )
    return ""


_LISTS = "containers|initContainers|ephemeralContainers|volumes|env|ports|volumeMounts"
_STEP = r"\{\{\s*element\d*\.\w+\s*\}\}|[a-z][\w.-]*"
_BY_NAME = re.compile(rf"(/(?:[^/]+/)*(?:{_LISTS}))/(?:{_STEP})(?:/|$)")


def _name_in_list(path: str) -> str:
    """Return that an element of a list is named in a path, where only an index is possible."""
    found = _BY_NAME.match(path)
    if found is None or "/metadata/" in path:
        return ""
    return (
        f"`{found[1]}` is a list, whose elements have an index and no name: write `{found[1]}/"
        "{{ elementIndex }}` in a `foreach`"
    )


def names_without_anchor(policy: Policy) -> Iterator[Diagnostic]:
    """KV331: a wildcard as a plain name in a merge, which adds an element with this name."""
    for rule in policy.rules:
        for pattern in patches(rule.tree):
            lists = (one for one in walk(pattern.root) if isinstance(one, PatternList))
            for item in (item for one in lists for item in one.items):
                for entry in item.entries if isinstance(item, PatternMap) else ():
                    leaf = entry.value
                    is_name = entry.key == "name" and entry.anchor is None
                    if not is_name or not isinstance(leaf, PatternLeaf):
                        continue
                    if not isinstance(leaf.data, str) or not has_wildcard(leaf.data):
                        continue
                    text = (
                        f"this adds an element with the name `{leaf.data}`: only names in "
                        f'parentheses are wildcards (write `(name): "{leaf.data}"`)'
                    )
                    changes = (change(policy.document, ChangeKind.KEY, entry.path, "(name)"),)
                    fix = Fix("use `(name)`", changes)
                    yield warn(policy.document, "KV331", text, entry.path, fix=fix)
