"""What to write instead of an expression in CEL that cannot be compiled."""

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from kyvsim.cel import Environment
from kyvsim.cel import kubernetes as native
from kyvsim.model.diagnostic import Diagnostic, Severity, listed, nearest
from kyvsim.model.source import Location
from kyvsim.policy.tree import NamedExpression

_START = "ERROR: <input>:"

_INSTEAD: Mapping[str, str] = {
    **dict.fromkeys(("and", "AND", "And"), "&&"),
    **dict.fromkeys(("or", "OR", "Or"), "||"),
    **dict.fromkeys(("= ", "=", "=="), "=="),
    "=<": "<=",
    "=>": ">=",
    "<>": "!=",
    **dict.fromkeys(("None", "nil", "Null", "NULL", "none", "undefined"), "null"),
    **dict.fromkeys(("True", "TRUE"), "true"),
    **dict.fromkeys(("False", "FALSE"), "false"),
    "length": "size",
    "len": "size",
    "any": "exists",
    "some": "exists",
    "every": "all",
    "startswith": "startsWith",
    "endswith": "endsWith",
    "includes": "contains",
    "toLower": "lowerAscii",
    "toUpper": "upperAscii",
    "lower": "lowerAscii",
    **{name: f"object.{name}" for name in ("metadata", "spec", "status", "kind")},
    "oldobject": "oldObject",
    "now": "time.now()",
    **dict.fromkeys(("userInfo", "user"), "request.userInfo"),
}
"""What CEL has instead of operators and names of other languages."""
_LOOP_NAME = re.compile(r"\.(?:all|exists|exists_one|existsOne|filter|map)\(\s*(\w+)\s*,")
_ONLY_NATIVE: Mapping[str, str] = {
    "authorizer": "only Kubernetes' own admission policies have `authorizer`",
    "params": "only Kubernetes' own admission policies, with a `paramKind`, have `params`",
}
_UNKNOWN_WORD = re.compile(
    r"(?:mismatched input|token recognition error at:|undeclared reference to) '([^']+)'"
)
_UNKNOWN_FIELD = re.compile(r"undefined field '([^']+)'")
_BY_TEXT = (
    (
        r"no matching overload for '(?:contains|startsWith|endsWith|matches)' applied to 'list",
        "a list is searched with `value in list`, or `list.exists(e, e.contains(value))`",
    ),
    (
        r"no matching overload for 'Apply' applied to 'generator\.Context\.\(list",
        "the namespace comes first: `generator.Apply(namespace, [object])`",
    ),
    (
        "no matching overload for 'Apply' applied to .*, map",
        "the second argument is a list of objects: write it in brackets",
    ),
    (
        r"invalid argument to has\(\)",
        "`has` tests a field, as `has(a.b)`: for a key write `'key' in a`",
    ),
    (
        "invalid matches argument",
        "not a regular expression: write `.*` for `*` of a wildcard, and escape with `\\\\`",
    ),
    (
        "no matching overload .*optional_type",
        "`.?` and `[?…]` give optional values: add `.orValue(…)`",
    ),
    (
        r"no matching overload .*\((?:(?:int|uint|double), string|string, (?:int|uint|double))\)",
        "numbers and strings are not compared: convert one with `int()` or `string()`",
    ),
    (
        r"no matching overload for '_[+-]_' applied to '\(kubernetes\.Quantity",
        "quantities are added with `a.add(b)` and subtracted with `a.sub(b)`",
    ),
    (
        r"no matching overload for '_[=!]=_' applied to '\((?:list\([^,]*, string|string, list)",
        "whether a list contains a value is tested with `value in list`",
    ),
    (
        r"no matching overload .*applied to '\(kubernetes\.GroupVersion(\w+), string",
        "it has fields: write `request.kind.kind` or `request.resource.resource`",
    ),
    ("expression of type 'any' cannot be range", "write `dyn(…)` around the list"),
    (
        "reserved identifier: namespace",
        "the namespace is in `namespaceObject`, its name in `object.metadata.namespace`",
    ),
    (
        r"mismatched input '\*' expecting",
        "a list has no `[*]`: write `list.all(e, …)`, `exists`, `filter` or `map`",
    ),
    (
        r"token recognition error at: '.*\\[A-Za-z]",
        r"strings have few escapes: write `[0-9]` for `\d`, or a raw string, as `r'\d'`",
    ),
    ("invalid duration argument", "durations have the units `h`, `m` and `s`: a day is `24h`"),
    (
        r"'_(?:[<>]=?|[!=]=)_' applied to '\(list\(.*\), int\)",
        "a list is no number: write `size(…)` for that of its elements",
    ),
    ("reserved identifier: if", "a choice is `condition ? a : b`"),
    ("extraneous input '[dhms]'", "a duration is a string, as `duration('72h')`"),
    (
        r"'_[<>]=?_' applied to '\(kubernetes\.(?:Quantity|Semver)",
        "write `a.isLessThan(b)`, `a.isGreaterThan(b)` or `a.compareTo(b)`",
    ),
    (
        r"applied to 'kubernetes\.Quantity\.\(string\)",
        "the argument is a quantity, too: write `quantity('1Gi')`",
    ),
    (
        r"applied to 'kubernetes\.Semver\.\(string\)",
        "the argument is a version, too: write `semver('1.0.0')`",
    ),
    ("expected to be of type Object", "write `Object{…}` instead of a map or list"),
    ("mismatched input '<EOF>' expecting ':'", "a choice has two values: `a ? b : c`"),
    ("expected to be of type list", "write a list, in brackets"),
    (
        "string or null_type|string null_type|must evaluate to string|to be of type string",
        "convert the value with `string(…)`",
    ),
    (
        "must evaluate to bool|expected to be of type bool",
        "compare the value, such as with `== true`",
    ),
)
"""Patterns of further problems, with remedies."""
_KEY_IN_BRACKETS = re.compile(r"\b(labels|annotations)\.([A-Za-z_][\w.]*[-/][\w./-]*)")


_NEAR = 0.8
_MACROS = ("all", "exists", "exists_one", "filter", "has", "map")


def _known_names(env: Environment | None) -> tuple[str, ...]:
    """Return the names of functions and variables; without environment, those of all policies."""
    known = env or native.kubernetes_environment(params=False, mutates=False)
    return (*known.functions, *(name for name, _ in known.variables), *_MACROS)


def _remedy_for_variable(name: str, names: Mapping[str, str]) -> str:
    if name in names:
        return f"a variable only reads those above it: define `{name}` before it"
    near = nearest(name, names)
    meant = f"did you mean `variables.{near}`?" if near else f"they are {listed(names)}"
    return meant if names else "the policy has no `variables`"


def _remedy(what: str, written: str, names: Mapping[str, str], env: Environment | None) -> str:
    """Return what to write instead of an expression that cannot be compiled, or ""."""
    found = _UNKNOWN_WORD.search(what)
    word = found[1] if found else ""
    key = _KEY_IN_BRACKETS.search(written)
    field = _UNKNOWN_FIELD.search(what)
    if field and f"variables.{field[1]}" in written:
        return _remedy_for_variable(field[1], names)
    if "Syntax error" in what and "{{" in written:
        return "CEL has no `{{ }}`: write names without braces, such as `object.metadata.name`"
    if word in names:
        return names[word]
    if key and "undeclared" in what:
        return f"keys with `-`, `.` or `/` are in brackets: `{key[1]}['{key[2]}']`"
    if word in _INSTEAD:
        return f"CEL has `{_INSTEAD[word]}` instead of `{word.strip()}`"
    if "Syntax error" in what and "??" in written:
        return "CEL has `?` and `:` for a choice, and `.orValue()` for a default, but no `??`"
    if "Syntax error" in what and re.search(r"\bnot\s", written):
        return "CEL has `!` instead of `not`"
    if dashed := re.search(r"\b(?:variables|attestors|attestations|images)\.\w+-\w+", written):
        return f"`{dashed[0]}` is a subtraction: name it without `-`"
    if "undeclared reference" in what:
        near = nearest(word, (*_LOOP_NAME.findall(written), *_known_names(env)), _NEAR)
        return _ONLY_NATIVE.get(word, f"did you mean `{near}`?" if near else "")
    return next((remedy for pattern, remedy in _BY_TEXT if re.search(pattern, what)), "")


def remedies(variables: Iterable[NamedExpression]) -> Mapping[str, str]:
    """Return what to write instead of the bare name of each variable of a policy."""
    return {one.name: f"the value of a variable is `variables.{one.name}`" for one in variables}


def expression_error(
    code: str,
    about: str,
    message: str,
    location: Location,
    names: Mapping[str, str] = MappingProxyType({}),
    env: Environment | None = None,
) -> Diagnostic:
    """Return an error about a policy, with the expression, a mark at the error, and a remedy.

    `message` is the listing of cel-go: the problem, followed by the lines of the expression.
    `names` are undeclared names with remedies, `env` has the names that the policy may use.
    """
    what, *lines = message.split("\n")
    text = f"{about}: {what.removeprefix(_START)}"
    excerpt = [line.strip() for line in lines]
    remedy = _remedy(what, "".join(excerpt[:1]), names, env)
    if remedy:
        excerpt.append(f"note: {remedy}")
    return Diagnostic(code, Severity.ERROR, text, location, tuple(excerpt))
