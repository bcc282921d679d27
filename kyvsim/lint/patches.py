"""Checks of patches: paths of JSON patches, and elements that a merge adds by mistake."""

from collections.abc import Iterator

from kyvsim.engine.compile.compiled import warn
from kyvsim.kubernetes.wildcard import has_wildcard
from kyvsim.languages.classic.validation.rule_parts import patch_operations
from kyvsim.lint.cel_mutations import steps_of
from kyvsim.lint.cel_policy import CelPolicy
from kyvsim.lint.fields import patches
from kyvsim.lint.traversal import nodes_of
from kyvsim.model.diagnostic import ChangeKind, Diagnostic, Fix, change
from kyvsim.model.policy import Policy
from kyvsim.model.source import place_in_text
from kyvsim.policy.rule import JsonPatch
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
                problem = _path_problem(path)
                if problem:
                    start = patch.text.find(path)
                    place = place_in_text(policy.document, patch.path, patch.text, start)
                    found = warn(policy.document, "KV330", problem, patch.path)
                    yield found._replace(location=place) if start >= 0 else found


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
