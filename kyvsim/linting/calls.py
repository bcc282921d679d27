"""Checks of calls of JMESPath functions: the order, form and meaning of constant arguments."""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import pairwise, product

from kyvsim.engine.compile.compiled import warn
from kyvsim.jmespath.functions import Function, QueryError, function_named
from kyvsim.jmespath.parse import QuerySyntaxError, Tree, parse
from kyvsim.jmespath.variables import VARIABLE
from kyvsim.kubernetes.objects import Json
from kyvsim.kubernetes.wildcard import has_wildcard, matches
from kyvsim.languages.classic.validation.rule_parts import is_open
from kyvsim.languages.classic.validation.variables import expression_of
from kyvsim.linting.cel_logic import regex_meant
from kyvsim.linting.patterns import needless_escape, unit_hint
from kyvsim.linting.queries import is_list, last_field, trees, written_in
from kyvsim.linting.traversal import joined_texts, nodes_of, texts_of
from kyvsim.model.diagnostic import Diagnostic, Instead
from kyvsim.model.policy import Policy
from kyvsim.policy.tree import Condition
from kyvsim.policy.visit import Text, TextKind

_Problem = tuple[str, str, Instead | None]
"""A code, a message, and what is certainly meant."""
_VALUE = "\0"
"""Stands for the value of a variable inside another expression."""


def call_problems(policy: Policy) -> Iterator[Diagnostic]:
    """KV205, KV309, KV336, KV339, KV349, KV351: constants that are wrong for every object.

    upstream: pkg/engine/jmespath/functions.go, kyverno/go-jmespath functions.go
    """
    for rule in policy.rules:
        if not _is_checked(joined_texts(rule)):
            continue
        for text in texts_of(rule):
            if text.kind is TextKind.CEL or not _is_checked(text.text):
                continue
            for expression in _expressions(text):
                for code, problem, instead in _problems(expression):
                    yield warn(policy.document, code, problem, text.path, instead=instead)
        for node in nodes_of(rule):
            for code, why in _of_condition(node) if isinstance(node, Condition) else ():
                yield warn(policy.document, code, why, (*node.path, "value"))


def _is_checked(text: str) -> bool:
    """Return whether a string may contain calls, or constants with escapes or wildcards."""
    return "(" in text or "\\" in text or ("*" in text and "= '" in text)


def _expressions(text: Text) -> Iterator[str]:
    """Yield the expressions in a string; those around variables have `_VALUE` instead of these."""
    written = text.text
    if text.kind is TextKind.QUERY and "{{" not in written:
        yield written
    while "{{" in written:
        found = VARIABLE.findall(written)
        yield from (expression_of(one) for _, one in found if _is_checked(one))
        if not found:
            return
        written = VARIABLE.sub(rf"\1{_VALUE}", written)


@lru_cache(maxsize=512)
def _problems(expression: str) -> tuple[_Problem, ...]:
    """Return the problems of the calls and comparisons in an expression."""
    try:
        if not any(_has_constant(one) for one in _calls(parse(expression))):
            return ()
        found = _calls(parse(expression, with_spans=True))
        return tuple(dict.fromkeys(each for one in found for each in _of_node(expression, one)))
    except QuerySyntaxError:
        return ()


def _calls(tree: Tree) -> Iterator[Tree]:
    """Yield the calls and comparisons in an expression."""
    pending = [tree]
    while pending:
        one = pending.pop()
        pending += trees(one)
        if one["type"] in {"function_expression", "comparator"}:
            yield one


def _has_constant(call: Tree) -> bool:
    return any(_is_constant(one) for one in trees(call))


def _of_node(expression: str, node: Tree) -> Iterator[_Problem]:
    if node["type"] == "function_expression":
        yield from _of_call(expression, node)
    elif node["value"] in {"eq", "ne"}:
        left, right = trees(node)
        for one, constant in ((left, right), (right, left)):
            text = constant["value"] if _is_constant(constant) else None
            if isinstance(text, str):
                is_name = last_field(one) in {"name", "image", "namespace"}
                if escape := needless_escape(text):
                    yield "KV309", escape, None
                elif is_name and _WITH_WILDCARD.search(text) and not text.startswith("*."):
                    how = f"write `pattern_match('{text}', …)`"
                    why = f"a comparison has no wildcards, and no name is `{text}`: {how}"
                    yield "KV351", why, None
                elif problem := _not_returned(one, text):
                    yield "KV349", problem, None


def _is_constant(tree: Tree) -> bool:
    return tree["type"] == "literal" and _VALUE not in str(tree["value"])


def _of_call(expression: str, call: Tree) -> Iterator[_Problem]:
    name, parts = str(call["value"]), trees(call)
    values = tuple(one["value"] if _is_constant(one) else None for one in parts)
    searched, text = (
        (parts[0], values[1]) if name in _SEARCHING and len(values) == 2 else (call, None)
    )
    if name == "regex_match" and len(values) == 2 and isinstance(values[0], str):
        # Classes and groups with flags may allow both cases.
        searched, text = parts[1], "" if "(?" in values[0] else _NOT_PLAIN.sub("", values[0])
    if problem := _wrong_order(name, values):
        first, second = (written_in(expression, one) for one in parts[:2])
        both = f"{first}, {second}"
        yield "KV336", problem, (both, f"{second}, {first}") if len(parts) == 2 else None
    elif other := _parts_of_lists(expression, name, parts):
        yield *other, None
    elif meaning := _other_meaning(name, values):
        yield "KV351", meaning, None
    elif isinstance(text, str) and (never := _not_returned(searched, text, is_part=True)):
        yield "KV349", never, None
    elif all(one is None or isinstance(one, str | float | int) for one in values):
        error = _failure(name, values)
        if error:
            hint = next((unit_hint(one) for one in values if isinstance(one, str)), "")
            yield "KV205", f"`{written_in(expression, call)}` always fails: {error}{hint}", None


_Values = tuple[Json, ...]
"""The arguments of a call: constants, and None for all others."""

_IN_FIRST = frozenset({"starts_with", "ends_with", "trim_prefix", "trim_suffix"})
"""Functions that search the first argument, which is never a constant."""
_OF_REGEXES = re.compile(r"\.[*+]|^\^|\$$|\\[dwsb.]|\[[^\]]+\]")
_SEPARATED = re.compile(r"[\s,;|]")


def _wrong_order(name: str, values: _Values) -> str:
    """Return that a constant is in the place of the string that a function searches, or ""."""
    if len(values) < 2:
        return ""
    first, second = values[:2]
    if name in {"regex_match", "pattern_match"} and first is None and isinstance(second, str):
        is_regex = _OF_REGEXES.search(second) is not None
        if is_regex if name == "regex_match" else has_wildcard(second):
            what = "regular expression" if name == "regex_match" else "pattern"
            return (
                f"the first argument of `{name}` is the {what}, the second one the string: "
                f"write `{name}('{second}', …)`"
            )
    if not isinstance(first, str) or not first or second is not None:
        return ""
    if name == "semver_compare" and first[0] in "<>=!^~":
        return f"the first argument of `{name}` is the version: write `{name}(…, '{first}')`"
    # A constant may be a list of words, one of which is searched.
    is_part = name == "contains" and not _SEPARATED.search(first)
    is_separator = name == "split" and not any(map(str.isalnum, first))
    if name in _IN_FIRST or is_part or is_separator:
        return (
            f"the first argument of `{name}` is the whole string, the second one the part to find "
            f"in it: write `{name}(…, '{first}')`"
        )
    return ""


def _parts_of_lists(expression: str, name: str, parts: list[Tree]) -> tuple[str, str] | None:
    """Return that `contains` searches a part of a string in a list, whose elements are whole."""
    if name != "contains" or len(parts) != 2 or not is_list(parts[0]):
        return None
    part = parts[1].get("value") if parts[1]["type"] == "literal" else None
    if not isinstance(part, str) or not _is_part(part, last_field(parts[0])):
        return None
    written = written_in(expression, parts[0])
    text = (
        f"`contains` compares `{part}` with whole elements of the list `{written}`: to search "
        f"in each, write `{written} | [?contains(@, '{part}')] | length(@)`"
    )
    return "KV339", text


_OF_IMAGES = frozenset(":/@")
_EDGES = tuple(":/@.-")
"""No name and no image begins or ends with these."""


def _is_part(text: str, field: str) -> bool:
    """Return whether no element of a list of names or images is equal to a string."""
    # Images without registry, tag and digest exist, but no rule is only about these.
    is_word = field == "image" and bool(text) and _OF_IMAGES.isdisjoint(text)
    is_cut = text.startswith(_EDGES) or text.endswith(_EDGES) or has_wildcard(text)
    return is_word or (field in {"image", "name"} and is_cut)


_IN_LAYOUTS = re.compile(r"\d|Jan|Mon|PM|MST")
"""What each layout contains: a part of Go's reference time."""


_PATH = re.compile(
    r"(?:request\.(?:object|oldObject|userInfo)|target|element\d?)(?:\.\w+|\[\d*\])+"
)


def _other_meaning(name: str, values: _Values) -> str:
    """Return what a constant means that is valid, but not meant so; or ""."""
    first, second, third = (*values, None, None, None)[:3]
    path = next((one for one in values if isinstance(one, str) and _PATH.fullmatch(one)), "")
    if path:
        return f"`'{path}'` is a string, not the value of the field: write `{path}`"
    if name in _WITHOUT_ESCAPES:
        found = (needless_escape(one) for one in values if isinstance(one, str))
        if escape := next(filter(None, found), ""):
            return escape
    if name in {"time_parse", "time_since"} and isinstance(first, str) and first:
        if not _IN_LAYOUTS.search(first):
            return (
                f"`{first}` is not a layout of Go, which shows how the time 2006-01-02 15:04:05 is "
                "written: write `2006-01-02` for year, month and day"
            )
    elif name == "trim" and isinstance(second, str) and _is_word(second):
        return (
            f"`trim` removes each of the characters `{second}` from both ends, not this string: "
            f"write `trim_prefix(…, '{second}')`, or `regex_replace_all` for the end"
        )
    elif name == "regex_replace_all" and isinstance(third, str) and _GROUP.search(third):
        meant = _GROUP.sub(r"${\1}", third)
        return f"`{third}` contains no group, but a backslash: write `{meant}`"
    return _other_wildcard(name, first, second)


def _other_wildcard(name: str, first: Json, second: Json) -> str:
    """Return that a function has no wildcards, or no regular expressions; or ""."""
    if name == "contains" and isinstance(second, str) and _AROUND.fullmatch(second):
        meant = second.strip("*")
    elif name in {"starts_with", "ends_with"} and isinstance(second, str):
        meant = second.rstrip("*") if name == "starts_with" else second.lstrip("*")
    elif name == "pattern_match" and isinstance(first, str) and _REGEX_OF_PATTERN.search(first):
        return (
            f"`pattern_match` takes a wildcard with `*` and `?`, and `{first}` is a regular "
            f"expression: write `regex_match('{first}', …)`"
        )
    else:
        return ""
    # Wildcards of hosts are part of their names: `*.example.com`.
    if meant in {"", second} or meant.startswith("."):
        return ""
    return (
        f"`{name}` has no wildcards, so `{second}` contains the character `*`: write "
        f"`{meant}`, or `pattern_match('{second}', …)`"
    )


_GROUP = re.compile(r"\\(\d)")
_WITH_WILDCARD = re.compile(r"\w.*[*?]|[*?].*\w")
_AROUND = re.compile(r"\*?[\w-]{2,}\*|\*[\w-]{2,}")
_REGEX_OF_PATTERN = re.compile(r"^\^|\$$|\.\+|\[[^\]]+\][*+]")
_WITHOUT_ESCAPES = frozenset(
    {
        *("contains", "starts_with", "ends_with", "split", "join", "replace", "replace_all"),
        *("trim", "trim_prefix", "trim_suffix", "equal_fold", "pattern_match"),
    }
)
"""Functions of texts that are not regular expressions."""
_NOT_PLAIN = re.compile(r"\\.|\[[^\]]*\]")
_SEARCHING = frozenset({"contains", "starts_with", "ends_with"})
_EQUALITIES = frozenset(
    {
        *("Equal", "Equals", "NotEqual", "NotEquals", "In", "AnyIn", "AllIn"),
        *("NotIn", "AnyNotIn", "AllNotIn"),
    }
)


def _of_condition(node: Condition) -> Iterator[tuple[str, str]]:
    """Yield that a value has an escape, or is one that a call in the key never returns."""
    values = node.value if isinstance(node.value, list) else [node.value]
    texts = [one for one in values if isinstance(one, str) and not is_open(one)]
    whole = VARIABLE.fullmatch(node.key.strip()) if isinstance(node.key, str) else None
    if whole is None or not texts or node.operator not in _EQUALITIES:
        return
    found = [needless_escape(one) for one in texts if not _OF_REGEXES.search(one.replace("\\", ""))]
    if any(found):
        yield "KV309", next(filter(None, found))
    elif "(" in whole[2]:
        try:
            tree = parse(expression_of(whole[2]))
        except QuerySyntaxError:
            return
        never = next(filter(None, (_not_returned(tree, one) for one in texts)), "")
        if never:
            yield "KV349", never


def _not_returned(tree: Tree, text: str, *, is_part: bool = False) -> str:
    """Return why no value or element of an expression is equal to a text; "" if one may be.

    `is_part` is whether the text may also be a part of the value.
    """
    kind, parts = tree["type"], trees(tree)
    if kind == "or_expression":
        first, default = parts
        is_default = default["type"] == "literal" and not matches(text, str(default["value"]))
        is_never = is_default or _not_returned(default, text, is_part=is_part)
        return _not_returned(first, text, is_part=is_part) if is_never else ""
    if kind in {"pipe", "subexpression", "projection"}:
        return _not_returned(parts[-1], text, is_part=is_part)
    if kind in {"index_expression", "expref"}:
        return _not_returned(parts[0], text, is_part=is_part)
    name = str(tree["value"]) if kind == "function_expression" else ""
    given = parts[1]["value"] if len(parts) > 1 and _is_constant(parts[1]) else None
    if name in {"to_upper", "to_lower"}:
        meant = text.upper() if name == "to_upper" else text.lower()
        case = "upper" if name == "to_upper" else "lower"
        why = f"`{name}` returns {case} case, never `{text}`: write `{meant}`"
        return why if meant != text else ""
    if name == "map" and parts:
        return _not_returned(parts[0], text, is_part=is_part)
    if name == "split" and isinstance(given, str) and given and given in text:
        return f"no element of `split` contains `{given}`, as `{text}` does"
    if name == "trim" and isinstance(given, str) and text.strip(given) != text and not is_part:
        meant = text.strip(given)
        return f"`trim` removes `{given}` at both ends, so it never returns `{text}`" + (
            f": write `{meant}`" if meant else ""
        )
    if name == "truncate" and isinstance(given, int | float) and not has_wildcard(text):
        why = f"`truncate` returns at most {given:g} characters, never `{text}`"
        return why if len(text) > given and not is_part else ""
    return ""


def _is_word(text: str) -> bool:
    """Return whether a string is not a set of characters, such as `abc` or `-_`."""
    letters = [one for one in text if one.isalpha()]
    in_order = all(ord(b) - ord(a) == 1 for a, b in pairwise(letters))
    return len(letters) > 2 and not in_order


_TEXTS: tuple[Json, ...] = (
    *("", "a", "2024-01-02T03:04:05Z", "1h", "1Gi", "1.2.3", "{}", "YQ==", "10.0.0.1", "2", "5"),
)
_SAMPLES: Mapping[str, tuple[Json, ...]] = {
    "string": _TEXTS,
    "number": (1.0, 4.0),
    "boolean": (True,),
    "bool": (True,),
    "object": ({}, {"a": "b"}),
    "array": ([], ["a"]),
    "array[string]": ([], ["a"]),
    "array[number]": ([], [1.0]),
    "any": (*_TEXTS, 1.0, 4.0),
}
"""Arguments with which each function succeeds that can."""
_MOST_CALLS = 2000


@lru_cache(maxsize=512)
def _failure(name: str, values: _Values) -> str:
    """Return the error of a call for all values of its other arguments; "" if it may succeed."""
    function = function_named(name)
    if function is None or function.needs_system or all(one is None for one in values):
        return ""
    # A constant may be a layout, which is also a time in this layout.
    constants = [one for one in values if isinstance(one, str) and one]
    own = [
        [sample for each in types for sample in _SAMPLES.get(each, ())]
        + constants * ("string" in types)
        for types in function.arguments
    ]
    if len(own) != len(values) or not all(own):
        return ""
    # Constants of another type are KV350.
    if not all(_fits(one, types) for one, types in zip(values, function.arguments, strict=True)):
        return ""
    # JMESPath has one type of numbers.
    given = [float(one) if isinstance(one, int) else one for one in values]
    fixed = [some if one is None else [one] for some, one in zip(own, given, strict=True)]
    errors = _failures(function, fixed)
    # Otherwise the samples are not those that the function needs.
    if not errors or _failures(function, own):
        return ""
    return next((one for one in errors if any(text in one for text in constants)), errors[-1])


def _fits(constant: Json, types: tuple[str, ...]) -> bool:
    name = {str: "string", bool: "boolean", int: "number", float: "number"}.get(type(constant))
    return constant is None or not {name, "any"}.isdisjoint(types)


def _failures(function: Function, arguments: list[list[Json]]) -> list[str]:
    """Return the errors of calls with all of some arguments; none if one succeeds."""
    errors: dict[str, None] = {}
    for count, given in enumerate(product(*arguments)):
        try:
            function.code(*given)
        except QueryError as error:
            errors[error.message] = None
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            continue  # a sample of a type that the function does not check
        else:
            return []
        if count == _MOST_CALLS:
            return []
    return [*errors]


_SEARCH = re.compile(r"\{\{\s*regex_match\(\s*'([^']*)'\s*,(.*)\)\s*\}\}")
_PROSE = re.compile(r"\b(annotations|args|command|data|message)\b|@")


def unanchored_searches(policy: Policy) -> Iterator[Diagnostic]:
    """KV360: a name that is denied unless a regular expression without anchors is found in it.

    upstream: pkg/engine/jmespath/functions.go `jpRegexMatch`
    """
    for rule in policy.rules:
        for node in nodes_of(rule) if "regex_match" in joined_texts(rule) else ():
            found = (
                _SEARCH.fullmatch(node.key.strip())
                if isinstance(node, Condition) and isinstance(node.key, str)
                else None
            )
            if found is None or not isinstance(node, Condition):
                continue
            is_required = "deny" in node.path and (node.operator, node.value) in _REQUIRED
            meant = regex_meant(
                found[1], is_required=is_required, is_name=not _PROSE.search(found[2])
            )
            if meant:
                text = (
                    "`regex_match` searches in the whole text, which may have anything beside "
                    f"`{found[1]}`: write `'{meant}'`"
                )
                yield warn(policy.document, "KV360", text, (*node.path, "key"))


_REQUIRED = (("Equals", False), ("NotEquals", True), ("Equal", False), ("NotEqual", True))
