"""Checks of patches: paths and removals of JSON patches, elements that a merge adds by mistake."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from kyvsim.engine.compile.compiled import warn
from kyvsim.kubernetes.discovery import KindTable
from kyvsim.kubernetes.objects import Json, Path, contains_text
from kyvsim.kubernetes.wildcard import has_wildcard
from kyvsim.languages.classic.validation.rule_parts import (
    is_open,
    mask_variables,
    operations_of,
    patch_operations,
)
from kyvsim.linting.fields import (
    json_patches,
    key_problem,
    label_problem,
    mistyped_parts,
    mutations,
    patches,
    resolved,
    types_mutated,
    unfitting_parts,
    unknown_parts,
)
from kyvsim.linting.matching import cluster_kinds
from kyvsim.linting.traversal import texts_of, texts_of_preconditions
from kyvsim.model.diagnostic import ChangeKind, Diagnostic, Fix, change, listed, nearest
from kyvsim.model.policy import Policy, Rule
from kyvsim.model.source import place_in_text
from kyvsim.patch.json_patch import OPERATIONS
from kyvsim.policy.anchors import ADDITION
from kyvsim.policy.read import read_pattern
from kyvsim.policy.rule import ForEachMutation, JsonPatch
from kyvsim.policy.tree import PatternEntry, PatternLeaf, PatternList, PatternMap, PatternNode
from kyvsim.policy.visit import walk
from kyvsim.schema.hints import field_hint
from kyvsim.schema.merge_types import DEDUCED, MapType, Type, metadata_type, type_finder

_SELECTORS = frozenset({"matchLabels", "nodeSelector"})
_STRING_MAPS = frozenset({"labels", "annotations"}) | _SELECTORS


def misread_paths(policy: Policy) -> Iterator[Diagnostic]:
    """KV330: a path of a JSON patch with a wildcard, an index in brackets, or a key with slashes.

    upstream: RFC 6901, which has no wildcards, and escapes `/` as `~1`
    """
    for rule in policy.rules:
        for patch in json_patches(rule.tree):
            for operation, path in patch_operations(patch.text):
                problem, meant = path_problem(path)
                problem = problem or name_in_list(path)
                if path.endswith("/-") and operation in {"remove", "replace", "test"}:
                    meant = ""
                    problem = (
                        f"`-` is the place after the last element, so `{operation}` finds nothing "
                        "there: write an index, or `add`"
                    )
                if problem:
                    yield _at_text(policy, patch, path, "KV330", problem, meant=meant)


def unknown_operations(policy: Policy) -> Iterator[Diagnostic]:
    """KV326: an operation that JSON patches do not have, in a loop, whose patch is not checked.

    upstream: pkg/engine/mutate, which reports it for each object
    """
    for rule in policy.rules:
        own = rule.tree.mutate.patches_json6902 if rule.tree.mutate else None
        for patch in json_patches(rule.tree):
            for name, path in patch_operations(patch.text) if patch is not own else ():
                if name not in OPERATIONS and "{{" not in name:
                    near = nearest(name, OPERATIONS, 0.5)
                    every = listed(OPERATIONS, len(OPERATIONS))
                    hint = f"did you mean `{near}`?" if near else f"they are {every}"
                    text = f"`{name}` is not an operation of JSON patches: {hint}"
                    yield _at_text(policy, patch, path, "KV326", text)


def unreadable_json(policy: Policy) -> Iterator[Diagnostic]:
    """KV348: a JSON patch that begins with `[` and is not JSON, so it cannot be applied.

    upstream: pkg/engine/mutate/patch/patchesUtils.go `ConvertPatchesToJSON`
    """
    for rule in policy.rules:
        for patch in json_patches(rule.tree):
            if not patch.text.startswith("["):
                continue
            try:
                json.loads(mask_variables(patch.text, "0"))
            except ValueError:
                text = (
                    "a patch that begins with `[` is read as JSON, which this is not: put its keys "
                    "and strings in double quotes, or write a list in YAML, with each operation "
                    "after `-`"
                )
                found = operations_of(patch.text)
                is_plain = found and all(found) and "{{" not in patch.text
                as_json = change(policy.document, ChangeKind.VALUE, patch.path, json.dumps(found))
                fix = Fix("write JSON", (as_json,)) if is_plain else None
                yield warn(policy.document, "KV348", text, patch.path, fix=fix)


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


def mistyped_patches(policies: Iterable[Policy], kinds: KindTable) -> Iterator[Diagnostic]:
    """KV225, KV327, KV350, KV382: a JSON patch that does not fit the fields of the kinds."""
    find = type_finder(kinds)
    for policy in policies:
        for rule in policy.rules:
            found = [*json_patches(rule.tree)]
            if not found:
                continue
            types = types_mutated(rule, find, kinds)
            # All objects have the same metadata.
            types = types or (Type(mapping=MapType({"metadata": metadata_type()}, DEDUCED, False)),)
            for patch in found:
                for operation in operations_of(patch.text):
                    path = operation.get("path")
                    if not isinstance(path, str) or not path.startswith("/"):
                        continue
                    for code, text, at in _misfits(operation, path, types, rule, patch):
                        yield _at_text(policy, patch, path, code, text, at)
                    holder = "labels" if "/metadata/labels/" in path else ""
                    if problem := label_problem(holder, operation.get("value")):
                        yield _at_text(policy, patch, path, "KV327", problem, "value")


def _mentions(rule: Rule, patch: JsonPatch, key: str) -> bool:
    """Return whether a rule contains the name of a field outside of a patch and its own name."""
    apart = (patch.path, (*rule.path, "name"))
    return any(
        key in one.text
        for one in texts_of(rule)
        if not any(one.path[: len(path)] == path for path in apart)
    )


def _misfits(
    operation: Mapping[str, Json], path: str, types: Sequence[Type], rule: Rule, patch: JsonPatch
) -> Iterator[tuple[str, str, str]]:
    """Yield what the types do not allow: code, text, and the field of the operation."""
    here = types
    *_, last = steps = [one.replace("~1", "/").replace("~0", "~") for one in path[1:].split("/")]
    for step in steps:
        maps = [one.mapping for one in here if one.mapping is not None]
        lists = [one.sequence for one in here if one.sequence is not None]
        refs = [one.fields.get(step, one.others) for one in maps]
        if not lists and maps and not any(refs) and step not in {"-", ""} and "{{" not in step:
            hint = field_hint(step, {field for one in maps for field in one.fields}, here)
            yield "KV225", f"none of the kinds of the rule has the field `{step}` here{hint}", ""
        here = [resolved(one) for one in refs if one is not None]
        here += [resolved(one.element) for one in lists]
    whole = operation.get("value")
    if operation.get("op") == "add" and isinstance(whole, list | dict):
        problem = replaced_problem(path, last, here, is_list=isinstance(whole, list))
        if problem and not _mentions(rule, patch, last):
            yield "KV382", problem, ""
    if operation.get("op") not in ("add", "replace") or not here or is_open(path):
        return
    value = read_pattern(operation.get("value"), ())
    if value is None:
        return
    mistyped = [noun for _, noun in mistyped_parts(value.root, here)]
    for noun in mistyped:
        how = f"{noun}, in quotes" if noun == "a string" else noun
        yield "KV327", f"an API server rejects this value: `{last}` must be {how}", "value"
    is_nested = last == "-" and isinstance(value.root, PatternList)
    nested = (
        "`-` adds one element, which would be a list in the list: write the value without `[ ]`"
    )
    for _, code, text in () if mistyped else unfitting_parts(value.root, here):
        yield code, nested if is_nested else text, "value"
    for at, hint in unknown_parts(value.root, here):
        yield "KV225", f"none of the kinds of the rule has the field `{at[-1]}` here{hint}", "value"


def moved_objects(policy: Policy) -> Iterator[Diagnostic]:
    """KV327: another namespace for the object of a request.

    upstream: k8s.io/apiserver pkg/registry/rest `EnsureObjectNamespaceMatchesRequestNamespace`,
    which is called after admission
    """
    for rule in policy.rules:
        mutate, match = rule.tree.mutate, rule.tree.data.get("match")
        if mutate is None or mutate.targets or any(map(cluster_kinds, rule.tree.filters)):
            continue
        for value, path in _namespaces_written(rule):
            is_constant = isinstance(value, str) and value and not is_open(value)
            # A rule that selects the namespace changes nothing.
            if is_constant and not contains_text(match, str(value)):
                text = (
                    f"an API server rejects objects that are moved to `{value}`: admission cannot "
                    "change the namespace of a request"
                )
                yield warn(policy.document, "KV327", text, path)


def _namespaces_written(rule: Rule) -> Iterator[tuple[Json, Path]]:
    for merge in patches(rule.tree):
        for metadata in _entries(merge.root, "metadata"):
            for one in _entries(metadata.value, "namespace"):
                yield one.value.data, one.path
    for patch in json_patches(rule.tree):
        for operation in operations_of(patch.text):
            is_set = operation.get("op") in ("add", "replace")
            if is_set and operation.get("path") == "/metadata/namespace":
                yield operation.get("value"), patch.path


def _entries(node: PatternNode, key: str) -> list[PatternEntry]:
    """Return the entries without anchor of a map that have a key."""
    entries = node.entries if isinstance(node, PatternMap) else ()
    return [one for one in entries if one.key == key and one.anchor is None]


_SET_AS_A_WHOLE = frozenset({"args", "command", "add", "drop", "finalizers"})
"""Lists that are hardly ever extended."""


def replaced_problem(path: str, key: str, types: Sequence[Type], *, is_list: bool) -> str:
    """Return that `add` of a list or map replaces a field of some types, or ""."""
    if not types or key in _SET_AS_A_WHOLE or key.isdigit() or key in {"-", "…"}:
        return ""
    for one in types:
        fits = one.sequence if is_list else one.mapping and one.mapping.others
        if one.scalar or not fits:
            return ""
    remedy = f"write `{path}/-` for one more element" if is_list else f"write `{path}/KEY`"
    return (
        f"`add` replaces all of `{path}` in objects that have it, and nothing in the policy tests "
        f"for `{key}`: {remedy}, and add the whole field only if it is missing"
    )


_INDEXED = re.compile(r"([\w-]+)/\{\{\s*elementIndex(\d*)\s*\}\}")
_PLAIN_LIST = re.compile(
    r"(?:request\.object|element\d*)\.(?:\w+\.)*(\w+)(?:\[\])?(?:\s*\|\|\s*`\[\]`)?"
)
_OTHER_ELEMENTS = re.compile(r"\[\?|\[\s*\w+\s*,|sort|reverse\(")


def indexes_of_other_lists(policy: Policy) -> Iterator[Diagnostic]:
    """KV357: `elementIndex` in the path of a list that is not the one of its loop."""
    for rule in policy.rules:
        loops = [one for one in mutations(rule.tree) if isinstance(one, ForEachMutation)]
        for patch in json_patches(rule.tree) if loops else ():
            around = [one for one in loops if patch.path[: len(one.path)] == one.path]
            for _, path in patch_operations(patch.text) if around else ():
                for name, level in _INDEXED.findall(path):
                    at = int(level) if level else len(around) - 1
                    over = [one.list.strip() for one in around]
                    problem = _index_problem(name, over, at)
                    if problem:
                        yield _at_text(policy, patch, path, "KV357", problem)


def _index_problem(name: str, over: Sequence[str], at: int) -> str:
    """Return why the index of the loop `at`, of loops over some lists, is not one of a list."""
    if at >= len(over):
        return ""
    if _OTHER_ELEMENTS.search(over[at]):
        return (
            f"`{over[at]}` has other indexes than `{name}`: loop over the whole list, and filter "
            "its elements with `preconditions`"
        )
    lists = [plain and plain[1] for plain in map(_PLAIN_LIST.fullmatch, over)]
    if lists[at] in {None, name}:
        return ""
    text = f"the index is that of an element of `{lists[at]}`, and not of `{name}`"
    if name in lists:
        meant = f"`{{{{elementIndex{lists.index(name)}}}}}`"
        return f"{text}: write {meant} for that (loops are numbered from the outermost one, 0)"
    return text


_ELEMENT = re.compile(r"(.*)/(\d+)")


def _removals_of_moved_elements(policy: Policy, rule: Rule) -> Iterator[Diagnostic]:
    """Yield constant removals of elements after one that was removed from the same list."""
    for patch in json_patches(rule.tree):
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


def _at_text(
    policy: Policy,
    patch: JsonPatch,
    path: str,
    code: str,
    text: str,
    after: str = "",
    *,
    meant: str = "",
) -> Diagnostic:
    """Return a warning at the position of a path in the text of a JSON patch, or a word `after`.

    `meant` is the path that is certainly meant, or "".
    """
    instead = (path, meant) if meant else None
    found = warn(policy.document, code, text, patch.path, instead=instead)
    start = patch.text.find(path)
    start = max(start, patch.text.find(after, start)) if after else start
    if start < 0:
        return found
    place = place_in_text(policy.document, patch.path, patch.text, start)
    return found._replace(location=place)


_DOTTED = re.compile(r"/(?:metadata|spec)\.[a-z]\w*(?:\.[a-z]\w*)*")


def path_problem(path: str) -> tuple[str, str]:
    """Return what is wrong with a path of a JSON patch, and the one that is meant; "" for none."""
    if dotted := _DOTTED.match(path):
        meant = path.replace(dotted[0], dotted[0].replace(".", "/"), 1)
        text = f"fields are separated by slashes in the path of a JSON patch: write `{meant}`"
        return text, meant
    names = path.split("/")[1:]
    for index, name in enumerate(names):
        rest = "/".join(names[index + 1 :])
        if name in {"*", "[*]", "[]"}:
            text = (
                f"JSON patches have no wildcards, so `{path}` is not found: write a `foreach` over "
                "the list, and `{{ elementIndex }}` in the path"
            )
            return text, ""
        if name.endswith("]") and "[" in name and "{{" not in name:
            meant = path.replace(name, name.replace("[", "/").replace("]", ""))
            text = f"an index is a step of its own in the path of a JSON patch: write `{meant}`"
            return text, meant
        if name in _STRING_MAPS and rest == "-":
            text = f"`-` is the end of a list, and `{name}` is a map: write a key in `{path}`"
            return text, ""
        if name in _STRING_MAPS and "/" in rest and "{{" not in rest:
            meant = path.removesuffix(rest) + rest.replace("/", "~1")
            text = (
                f"`{path}` is a field inside a value of `{name}`, but these are strings: `/` in a "
                f"key is `~1` (write `{meant}`)"
            )
            return text, meant
        in_metadata = index and names[index - 1] == "metadata"
        if rest and (in_metadata or name in _SELECTORS) and name in _STRING_MAPS:
            problem = key_problem(name, rest.replace("~1", "/").replace("~0", "~"))
            slashed = rest.replace("~0", "~1")
            if problem and slashed != rest and not key_problem(name, slashed.replace("~1", "/")):
                meant = f"{path[: -len(rest)]}{slashed}"
                return f"`/` in a key is `~1`, and `~0` is `~`: write `{meant}`", meant
            return problem, ""
    return "", ""


_LISTS = "containers|initContainers|ephemeralContainers|volumes|env|ports|volumeMounts"
_STEP = r"\{\{\s*element\d*\.\w+\s*\}\}|[a-z][\w.-]*"
_BY_NAME = re.compile(rf"(/(?:[^/]+/)*(?:{_LISTS}))/(?:{_STEP})(?:/|$)")


def name_in_list(path: str, *, in_cel: bool = False) -> str:
    """Return that an element of a list is named in a path, where only an index is possible."""
    found = _BY_NAME.match(path)
    if found is None or "/metadata/" in path:
        return ""
    index = "0` (or a patch for each index)" if in_cel else "{{ elementIndex }}` in a `foreach`"
    return (
        f"`{found[1]}` is a list, whose elements have an index and no name: write `{found[1]}/"
        f"{index}"
    )


_DIRECTIVES = ("delete", "replace", "merge")


def unknown_directives(policy: Policy) -> Iterator[Diagnostic]:
    """KV326: a directive `$patch` that strategic merges do not have, which is added as a field.

    upstream: sigs.k8s.io/kustomize/kyaml yaml/merge2
    """
    for rule in policy.rules:
        for pattern in patches(rule.tree):
            for one in walk(pattern.root):
                if not isinstance(one, PatternEntry) or one.text != "$patch":
                    continue
                value = one.value.data
                if not is_open(value) and value not in _DIRECTIVES:
                    near = nearest(str(value), _DIRECTIVES, 0.5) or "delete"
                    meant = f"did you mean `{near}`?" if value != "remove" else "write `delete`"
                    text = f"`{value}` is not a directive ({listed(_DIRECTIVES)}): {meant}"
                    instead = ("remove", "delete") if value == "remove" else None
                    yield warn(policy.document, "KV326", text, one.path, instead=instead)


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


def added_maps(policy: Policy) -> Iterator[Diagnostic]:
    """KV367: labels or annotations that a merge only adds to objects that have none at all.

    upstream: pkg/engine/mutate/patch/strategicPreprocessing.go `handleAddIfNotPresentAnchor`
    """
    for rule in policy.rules:
        for pattern in patches(rule.tree):
            for entry in walk(pattern.root) if ADDITION in pattern.root.anchors else ():
                if not isinstance(entry, PatternEntry) or entry.anchor != ADDITION:
                    continue
                value, name = entry.value, entry.key
                is_of_metadata = name in {"labels", "annotations"} and entry.path[-2] == "metadata"
                if not is_of_metadata or not isinstance(value, PatternMap) or not value.entries:
                    continue
                if any(f"metadata.{name}" in one for one in texts_of_preconditions(rule)):
                    continue  # objects without any may be meant
                first = value.entries[0].key
                text = (
                    f"nothing is added to an object that has any {name}: the anchor is about the "
                    f"whole map (write `{name}:`, and `+({first}):` below it)"
                )
                keys = {entry.path: name}
                keys |= {one.path: f"+({one.key})" for one in value.entries if one.anchor is None}
                changes = [
                    change(policy.document, ChangeKind.KEY, path, key) for path, key in keys.items()
                ]
                fix = Fix("use the anchor for each key", tuple(changes))
                yield warn(policy.document, "KV367", text, entry.path, fix=fix)
