"""Checks of JMESPath: defaults, quotes, keys and comparisons that mean something else."""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kyvsim.engine.compile.compiled import warn
from kyvsim.jmespath.parse import QuerySyntaxError, Tree, parse
from kyvsim.jmespath.variables import VARIABLE
from kyvsim.languages.classic.validation.variables import expression_of
from kyvsim.linting.traversal import joined_texts, nodes_of, texts_of
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.policy import Policy, PolicyException
from kyvsim.model.source import Document
from kyvsim.policy.tree import ConfigMapEntry, ContextEntry
from kyvsim.policy.visit import Text, TextKind, texts_within

_SIGNS = ("||", '"', ">", "<", "==", "!=", "labels.", "annotations.", ".data.")
"""Each expression for which a check reports something contains one of these."""
_ROOTS = frozenset(
    {
        *("request", "element", "elementIndex", "images", "image", "target"),
        *("serviceAccountName", "serviceAccountNamespace"),
    }
)
_LOOP_NAME = re.compile(r"element(?:Index)?\d*")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
_NO_KEY = re.compile(r"[^\w./-]|^[./-]|[./-]$|^$")
"""What a key of labels, or the name of a field, does not contain."""
_CONSTANTS = frozenset({"true", "false"})
_STRING_MAPS = frozenset({"labels", "annotations", "matchLabels", "nodeSelector"})
_ORDERS = frozenset({"lt", "lte", "gt", "gte"})
_COUNTS = frozenset({"length", "to_number", "sum", "avg", "abs", "ceil", "floor", "round"})
"""Functions that return numbers."""
_ON_STRINGS = frozenset(
    {
        *("contains", "starts_with", "ends_with", "split", "replace", "replace_all", "trim"),
        *("trim_prefix", "trim_suffix", "regex_match", "regex_replace_all", "pattern_match"),
        *("regex_replace_all_literal", "semver_compare", "equal_fold", "compare", "truncate"),
    }
)
"""Functions whose arguments after the first one are usually strings."""
_LATER = frozenset(
    {"pipe", "subexpression", "index_expression", "projection", "filter_projection"}
    | {"value_projection"}
)
"""Nodes that evaluate all parts but the first one on another value."""


_LISTS = frozenset({"projection", "filter_projection", "value_projection", "flatten"})


def is_list(tree: Tree) -> bool:
    """Return whether the value of an expression is a list or null."""
    if tree["type"] == "subexpression":
        return is_list(trees(tree)[-1])
    return tree["type"] in _LISTS


def last_field(tree: Tree) -> str:
    """Return the last field of a path; "" if it does not end with one."""
    while tree["type"] != "field":
        below = trees(tree)
        if tree["type"] == "function_expression" or not below:
            return ""
        tree = below[-1]
    return str(tree["value"])


class _Problem(NamedTuple):
    code: str
    text: str
    written: str = ""
    """The part of the expression to replace."""
    meant: str = ""


def misread_queries(policy: Policy) -> Iterator[Diagnostic]:
    """KV301 to KV305: JMESPath that is valid, but does not do what it seems to do."""
    for rule in policy.rules:
        written = joined_texts(rule)
        if not any(sign in written for sign in _SIGNS):
            continue
        entries = [one for one in nodes_of(rule) if isinstance(one, ContextEntry)]
        yield from _misread(policy.document, texts_of(rule), entries)


def misread_exceptions(exceptions: Iterable[PolicyException]) -> Iterator[Diagnostic]:
    """KV301 to KV305 in the conditions of exceptions."""
    for exception in exceptions:
        spec = exception.document.data.get("spec") or {}
        found = texts_within(spec.get("conditions"), ("spec", "conditions"))
        yield from _misread(exception.document, found, ())


def _misread(
    document: Document, found: Iterable[Text], entries: Iterable[ContextEntry]
) -> Iterator[Diagnostic]:
    known = tuple(entries)
    for path, text, kind in found:
        expressions = [text] if kind is TextKind.QUERY else []
        if "{{" in text and kind is not TextKind.CEL:
            expressions = [expression_of(variable) for _, variable in VARIABLE.findall(text)]
        for expression in expressions:
            if not any(sign in expression for sign in _SIGNS):
                continue
            for one in dict.fromkeys(_problems(expression, known)):
                instead = (one.written, one.meant) if one.meant else None
                yield warn(document, one.code, one.text, path, instead=instead)


def _problems(expression: str, entries: tuple[ContextEntry, ...]) -> Iterator[_Problem]:
    try:
        tree = parse(expression, with_spans=True)
    except QuerySyntaxError:
        return
    pending = [(tree, True)]
    while pending:
        one, at_root = pending.pop()
        kind, children = one["type"], trees(one)
        pending += [
            (child, at_root and not (index and kind in _LATER) and kind != "expref")
            for index, child in enumerate(children)
        ]
        if kind == "or_expression":
            left, right = children
            yield from _default_problems(expression, left, right, entries if at_root else None)
        elif kind == "comparator":
            yield from _comparison_problems(expression, one)
        elif kind == "function_expression":
            yield from _argument_problems(expression, one)
        elif kind == "subexpression":
            yield from _key_problems(children, entries)


def trees(tree: Tree) -> list[Tree]:
    """Return the parts of an expression that are expressions."""
    return [one for one in tree["children"] if isinstance(one, dict)]


def written_in(expression: str, tree: Tree) -> str:
    """Return a part of an expression, parsed with spans, as written."""
    start, end = tree.get("span", (0, 0))
    return expression[start:end].strip()


def _default_problems(
    expression: str, left: Tree, right: Tree, entries: tuple[ContextEntry, ...] | None
) -> Iterator[_Problem]:
    """Yield the problems of `left || right`; `entries` is None if names are not those of a rule."""
    written = written_in(expression, right)
    if left["type"] == "literal" and left["value"]:
        first = written_in(expression, left)
        text = (
            f"`{first} || {written}` is always {first}, since `||` only replaces values that are "
            "missing, empty or false: write the comparison twice"
        )
        yield _Problem("KV301", text)
    elif right["type"] == "field":
        name = right["value"]
        is_quoted = written.startswith('"')
        known = {*_ROOTS, *(one.name.split(".")[0] for one in entries or ())}
        is_text = entries is not None or is_quoted or name in _CONSTANTS
        is_null = name == "null" and not is_quoted  # a field that is missing is null, too
        if is_text and not is_null and name not in known and not _LOOP_NAME.fullmatch(name):
            is_constant = name in _CONSTANTS and not is_quoted
            meant = f"`{name}`" if is_constant else f"'{name}'"
            how = f"{name} in backticks: {meant}" if is_constant else meant
            text = (
                f"`|| {written}` is not a default: it reads a field with the name `{name}`, which "
                f"does not exist here (write {how})"
            )
            yield _Problem("KV301", text, f"|| {written}", f"|| {meant}")
    elif right["type"] == "projection" and written == "[]":
        text = (
            "`|| []` is not a default: `[]` flattens the data, which is not a list here (write an "
            "empty list in backticks: `[]`)"
        )
        yield _Problem("KV301", text, "|| []", "|| `[]`")
    elif _is_true(right, left) and _may_be_false(left, entries or ()):
        shown = written_in(expression, left)
        text = (
            f"`|| {written}` also replaces the value false, so the result is always true: write "
            f"`{shown} != `false``, which is true for a missing value, too"
        )
        # The result of a comparison, and a default for a value that is no boolean, may be meant.
        is_switch = right["value"] is True and last_field(left) in _BOOLEANS
        both = expression[left.get("span", (0, 0))[0] : right.get("span", (0, 0))[1]]
        yield _Problem("KV302", text, both, f"{shown} != `false`" if is_switch else "")


_BOOLEANS = frozenset(
    {
        *("automountServiceAccountToken", "hostNetwork", "hostPID", "hostIPC", "privileged"),
        *("allowPrivilegeEscalation", "readOnlyRootFilesystem", "runAsNonRoot", "hostUsers"),
        *("publishNotReadyAddresses", "allocateLoadBalancerNodePorts", "immutable", "readOnly"),
    }
)
"""Fields that are booleans in all kinds of Kubernetes."""


def _is_true(default: Tree, tree: Tree) -> bool:
    """Return whether a default is true, or the string of it for a field that is a boolean."""
    if default["type"] != "literal":
        return False
    return default["value"] is True or (
        default["value"] == "true" and last_field(tree) in _BOOLEANS
    )


def _may_be_false(tree: Tree, entries: tuple[ContextEntry, ...]) -> bool:
    """Return whether an expression is a comparison, or a field that may have the value false."""
    kind, children = tree["type"], trees(tree)
    if kind in {"comparator", "not_expression"}:
        return True
    if kind == "or_expression":
        return any(_may_be_false(one, entries) for one in children)
    names = [one.get("value") for one in (children or [tree])]
    if kind not in {"field", "subexpression"} or not all(
        one["type"] == "field" for one in (children or [tree])
    ):
        return False
    holds_strings = any(isinstance(one, ConfigMapEntry) and one.name == names[0] for one in entries)
    return not holds_strings and _STRING_MAPS.isdisjoint(map(str, names))


def _comparison_problems(expression: str, tree: Tree) -> Iterator[_Problem]:
    left, right = trees(tree)
    for one, other in ((left, right), (right, left)):
        is_string = one["type"] == "literal" and isinstance(one["value"], str)
        counts = other["type"] == "function_expression" and other["value"] in _COUNTS
        if is_string and (tree["value"] in _ORDERS or counts):
            written, value = written_in(expression, one), one["value"]
            result = "is null" if tree["value"] in _ORDERS else "never compares equal"
            advice = f": write `{value}` in backticks" if value.isdigit() else ""
            text = (
                f"`{written_in(expression, tree)}` {result}: {written} is a string, not a number"
                f"{advice}"
            )
            yield _Problem("KV304", text, written if advice else "", f"`{value}`" if advice else "")
    written = written_in(expression, right)
    if right["type"] == "field" and written.startswith('"') and not _is_quoted(expression, left):
        yield _as_string(written, right["value"])


def _is_quoted(expression: str, tree: Tree) -> bool:
    return written_in(expression, tree).startswith('"')


def _argument_problems(expression: str, tree: Tree) -> Iterator[_Problem]:
    for index, one in enumerate(trees(tree)):
        written = written_in(expression, one)
        if one["type"] != "field" or not written.startswith('"'):
            continue
        name = one["value"]
        is_text = _NO_KEY.search(name) or (
            index and (tree["value"] in _ON_STRINGS or _IDENTIFIER.fullmatch(name))
        )
        if is_text:
            yield _as_string(written, name)


def _as_string(written: str, name: str) -> _Problem:
    text = (
        f"{written} is the name of a field, not a string: strings are in single quotes (write "
        f"'{name}')"
    )
    return _Problem("KV303", text, written, f"'{name}'")


def _key_problems(children: list[Tree], entries: tuple[ContextEntry, ...]) -> Iterator[_Problem]:
    """Yield a key with dots that is read as a path."""
    names = [str(one["value"]) if one["type"] == "field" else "" for one in children]
    for index, name in enumerate(names[:-2]):
        is_config_map = index == 1 and any(
            isinstance(one, ConfigMapEntry) and one.name == names[0] for one in entries
        )
        in_metadata = index and names[index - 1] in {"metadata", "selector", "spec"}
        if not ((name in _STRING_MAPS and in_metadata) or (name == "data" and is_config_map)):
            continue
        rest = names[index + 1 :]
        rest = rest[: rest.index("")] if "" in rest else rest
        if len(rest) < 2:
            return
        key = ".".join(rest)
        written, meant = f"{name}.{key}", f'{name}."{key}"'
        text = (
            f"`{written}` has no value: the values of `{name}` are strings without fields (a key "
            f"with dots needs quotes: `{meant}`)"
        )
        yield _Problem("KV305", text, written, meant)
        return
