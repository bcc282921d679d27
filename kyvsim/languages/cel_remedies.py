"""What to write instead of an expression in CEL that cannot be compiled."""

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from kyvsim.cel import Environment
from kyvsim.cel import kubernetes as native
from kyvsim.cel.environment import signature
from kyvsim.cel.types import show
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
    "count": "size",
    **dict.fromkeys(("toLower", "toLowerCase", "lower", "to_lower"), "lowerAscii"),
    **dict.fromkeys(("toUpper", "toUpperCase", "upper", "to_upper"), "upperAscii"),
    "hasPrefix": "startsWith",
    "hasSuffix": "endsWith",
    **dict.fromkeys(("regex", "regex_match", "test", "like"), "text.matches('…')"),
    **dict.fromkeys(("forEach", "for_each"), "all"),
    **dict.fromkeys(("str", "toString", "to_string"), "string"),
    **dict.fromkeys(("number", "parseInt", "to_number"), "int"),
    **dict.fromkeys(("unique", "uniq"), "distinct"),
    **dict.fromkeys(("default", "getOrDefault"), "orValue"),
    "keys": "map.map(key, key)",
    "values": "map.map(key, map[key])",
    "target": "object",
    "element": "list.all(element, …)",
    "jsonPatch": "jsonpatch",
    "JsonPatch": "JSONPatch",
    **{name: f"object.{name}" for name in ("metadata", "spec", "status", "kind")},
    "oldobject": "oldObject",
    "now": "time.now()",
    **dict.fromkeys(("userInfo", "user"), "request.userInfo"),
}
"""What CEL has instead of operators and names of other languages."""
_LOOP_NAME = re.compile(r"\.(?:all|exists|exists_one|existsOne|filter|map)\(\s*(\w+)\s*,")
_ONLY_SOME: Mapping[str, str] = {
    "authorizer": "only Kubernetes' own admission policies have `authorizer`",
    "params": "only Kubernetes' own admission policies, with a `paramKind`, have `params`",
    **{
        name: f"only an ImageValidatingPolicy has `{name}`"
        for name in ("verifyImageSignatures", "verifyAttestationSignatures", "attestors", "images")
    },
    "generator": "only a GeneratingPolicy has `generator`",
    **{
        name: f"only Kyverno's own policies in CEL, such as a ValidatingPolicy, have `{name}`"
        for name in ("resource", "globalContext", "http", "image", "parseServiceAccount")
    },
}
_UNKNOWN_WORD = re.compile(
    r"(?:mismatched input|token recognition error at:|undeclared reference to) '([^']+)'"
)
_UNKNOWN_FIELD = re.compile(r"undefined field '([^']+)'")
_NO_OVERLOAD = re.compile(r"no matching overload for '(\w[\w.]*)' applied to '([\w.]*)")
_OF_TYPE = re.compile(r"(?:type|resolution of) '([\w.]+)'")
_READ = re.compile(r"(\w+(?:\.\w+)*)$")
_QUOTES = "texts are in single or double quotes: `'text'`"
_LOOKUP = (
    "it is called as `resource.Get(apiVersion, plural, namespace, name)`, `List` without the name, "
    "and both without a namespace in namespaced policies"
)
_BY_TEXT = (
    (r"'(?:Get|List)' applied to 'resource\.", _LOOKUP),
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
        r"applied to '\((?:(?:int|uint|double), string|string, (?:int|uint|double))\)",
        "numbers and strings are not compared or added: convert one with `int()` or `string()`",
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
    ("reserved identifier: (?:let|var|const)", "a name for a value is in `spec.variables`"),
    (
        r"'@in' applied to '\(.*, string\)",
        "`in` finds elements of lists and keys of maps: write `text.contains(part)`",
    ),
    (
        r"'_[-+]_' applied to '\(timestamp, (?:int|double|string)",
        "a time and a `duration('24h')` are added",
    ),
    (r"applied to '\(duration, (?:int|double|string)", "compare with `duration('24h')`"),
    (
        r"applied to '\((?:timestamp, string|string, timestamp)",
        "convert the text with `timestamp(…)`",
    ),
    (
        r"applied to '\((?:kubernetes\.Quantity, string|string, kubernetes\.Quantity)",
        "the other side is a quantity, too: write `quantity('1Gi')`",
    ),
    (
        r"applied to '\((?:int, double|double, int)\)",
        "whole and decimal numbers differ: write `1.0`, or convert one with `double(…)`",
    ),
    (
        r"'_[!=]=_' applied to '\((?:string, bool|bool, string)\)",
        "a boolean is not a text: write `true` without quotes, or compare the text with `'true'`",
    ),
    (
        r"applied to '\((?:bytes, string|string, bytes)\)",
        "convert the bytes with `string(…)`",
    ),
    (r"'_\+_' applied to '\(list\((\w+)\), \1\)", "lists are added: write `list + [value]`"),
    (r"'_\+_' applied to '\(list", "lists are added if their elements have the same type"),
    (r"'_\+_' applied to '\(string, list", "join the list: `list.join(', ')`"),
    (r"'_\+_' applied to '\(map", "maps cannot be added: write the keys in one map"),
    (r"'_-_' applied to '\(list", "write `list.filter(e, !(e in others))`"),
    (r"'_\?_:_' applied to '\(bool", "both values of a choice have the same type: convert one"),
    (
        r"'_\?_:_' applied to|'!_' applied to|expected type 'bool' but found",
        "operands of `&&`, `||`, `!` and `?` are booleans: compare the value, as `x != ''`",
    ),
    (r"applied to '\(map\(.*, null\)", "a map is never null: test `size(…) > 0`, or a key"),
    ("argument must be a simple name", "the first argument is a name for the element: `all(e, …)`"),
    ("invalid timestamp argument", "write the date and the time, as `2024-01-31T00:00:00Z`"),
    ("expression of type 'string' cannot be range", "split a text into a list: `text.split(',')`"),
    ("type 'list.* does not support field selection", "write `list.all(e, e.field …)` or `exists`"),
    (
        "type 'string' does not support field selection",
        "functions read a text, as `image(text).tag()`",
    ),
    (r"expected type of field '\w+' is ''", "no such field: a patch has `op`, `path` and `value`"),
    ("mismatched input '[`\u201c\u2018]|error at: '[\u201c\u2018\u201d\u2019]", _QUOTES),
    (r"error at: '&(?!&)|error at: '\|", "CEL has `&&`, `||` and functions, such as `size(list)`"),
    ("error at: '=?~", "texts are tested with `text.matches('…')`"),
    (r"error at: '(?:'[^']*|\"[^\"]*)'$", "the text has no closing quote"),
    ("error at: '#", "a comment in CEL begins with `//`"),
    ("error at: ';", "an expression has one value: names for others are in `spec.variables`"),
    (r"error at: '[$@]", "names have no `$` or `@`: write `object.metadata.name`"),
    (
        r"error at: '.*\\\W",
        r"write two backslashes, or a raw text, as `r'\.'`; double quotes of YAML halve them",
    ),
    (r"extraneous input '\)'", "a `(` is missing, or this `)` is too much"),
    (r"missing '\)'", "a `)` is missing"),
    (r"extraneous input '\]'", "a list has no `[]`: write `list.all(e, …)`"),
    ("extraneous input '>'", "CEL has `!=` instead of `<>`"),
    ("extraneous input ','", "an expression has one value, without a comma behind it"),
    ("mismatched input '!' expecting <EOF>", "negate the whole test: `!(value in list)`"),
    (
        "mismatched input '(?:matches|like)' expecting <EOF>",
        "texts are tested with `text.matches('…')`",
    ),
    (
        "mismatched input '(?:contains|startsWith|endsWith)' expecting <EOF>",
        "functions are called: write `text.contains('…')`",
    ),
    ("mismatched input 'is(?:not)?' expecting <EOF>", "CEL has `==` and `!=` instead of `is`"),
    (r"mismatched input ''.*'' expecting \{IDENTIFIER", "names of fields have no quotes here"),
    (
        r"no viable alternative at input '\.'",
        "a key in quotes is in brackets: `map['key']`",
    ),
    (r"missing ':' at '\.'", "write nested objects: `Object{metadata: Object.metadata{…}}`"),
    (
        r"mismatched input '<EOF>' expecting \{",
        "the expression has no end, or is empty: a value is missing",
    ),
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
    (r"expected type of field '\w+' is", "write a value of the expected type"),
    (
        "(?:mismatched|extraneous) input .* expecting <EOF>",
        "an operator, such as `==` or `&&`, is missing here",
    ),
    ("index .* out of range", "`format` needs one value for each `%s`, in a list"),
    ("'@in' applied", "`in` takes a list or a map on its right side"),
    (
        "no matching overload for '[_!]",
        "convert one side, such as with `string(…)`, `int(…)` or `dyn(…)`",
    ),
)
"""Patterns of further problems, with remedies."""
_BY_LINE = (
    (r"\{\{", "CEL has no `{{ }}`: write names without braces, such as `object.metadata.name`"),
    (r"\?\?", "CEL has `?` and `:` for a choice, and `.orValue()` for a default, but no `??`"),
    (r"\.List\([^)]*\)\.(?:all|exists|filter|map)\(", "the objects are in `.items`"),
    (
        r"^(?:\| )?//.*[({=&|]",
        "`//` hides the rest of its line: write `|` in YAML, as `>` joins all lines",
    ),
    (r"\bnot\s", "CEL has `!` instead of `not`"),
)
"""Patterns of lines with syntax errors, with remedies."""
_KEY_IN_BRACKETS = re.compile(r"\b(labels|annotations)\.([A-Za-z_][\w.]*[-/][\w./-]*)")


_NEAR = 0.8
_CALLED: Mapping[str, str] = {
    "has": "`has` tests one field, as `has(a.b)`",
    **{
        name: f"it takes a name for the element, and a test: `list.{name}(e, …)`"
        for name in ("all", "exists", "exists_one", "filter", "map")
    },
}
"""The macros, and how they are called."""
_READABLE = ("object", "oldObject", "request", "namespaceObject")


def _remedy_for_variable(name: str, names: Mapping[str, str]) -> str:
    if name in names:
        return f"a variable only reads those above it: define `{name}` before it"
    near = nearest(name, names)
    meant = f"did you mean `variables.{near}`?" if near else f"they are {listed(names)}"
    return meant if names else "the policy has no `variables`"


def remedy(
    message: str,
    names: Mapping[str, str] = MappingProxyType({}),
    env: Environment | None = None,
) -> str:
    """Return what to write instead of an expression that cannot be compiled, or "".

    `message` is the listing of cel-go: the problem, followed by the lines of the expression.
    `names` are undeclared names with remedies, `env` has the names that the policy may use;
    without it, those of Kubernetes' admission policies.
    """
    what, *lines = message.split("\n")
    written = lines[0].strip() if lines else ""
    found = _UNKNOWN_WORD.search(what)
    word = found[1] if found else ""
    field = _UNKNOWN_FIELD.search(what)
    if field and f"variables.{field[1]}" in written:
        return _remedy_for_variable(field[1], names)
    known = env or native.kubernetes_environment(params=False, mutates=False)
    if field:
        return _remedy_for_field(field[1], what, written, known)
    key = _KEY_IN_BRACKETS.search(written) if "undeclared" in what else None
    if word in names:
        return names[word]
    if key:
        return f"keys with `-`, `.` or `/` are in brackets: `{key[1]}['{key[2]}']`"
    if word in _INSTEAD:
        return f"CEL has `{_INSTEAD[word]}` instead of `{word.strip()}`"
    if dashed := re.search(r"\b(?:variables|attestors|attestations|images)\.\w+-\w+", written):
        return f"`{dashed[0]}` is a subtraction: name it without `-`"
    if "undeclared reference" in what:
        return _remedy_for_name(word, written, known)
    lines_with = _BY_LINE if "Syntax error" in what or "field selection" in what else ()
    by_pattern = (
        *(text for pattern, text in lines_with if re.search(pattern, written)),
        *(text for pattern, text in _BY_TEXT if re.search(pattern, what)),
    )
    return by_pattern[0] if by_pattern else _signatures(what, known)


def _remedy_for_name(word: str, written: str, env: Environment) -> str:
    """Return what to write instead of a name that is not declared."""
    variables = [name for name, _ in env.variables]
    if re.search(rf"\b{word}\{{", written):
        return "the types are `Object`, those of its parts, as `Object.spec{…}`, and `JSONPatch`"
    is_called = re.search(rf"\b{word}\(", written)
    if word in _ONLY_SOME and word not in variables and not is_called:
        return _ONLY_SOME[word]
    if word in {*_CALLED, *variables}:
        return _CALLED.get(word, f"`{word}` has no value in this expression")
    known = {*_LOOP_NAME.findall(written), *env.functions, *variables, *_CALLED}
    near = nearest(word, (*known, *_ONLY_SOME), _NEAR)
    if near and near not in known:
        return _ONLY_SOME[near]
    if near and near != word:
        return f"did you mean `{near}`?"
    if is_called:
        return "no function has this name: `kyvsim cel functions` lists all"
    if near or re.search(rf"\[{word}\]|[{{,]\s*{word}\s*:", written):
        return f"write a text in quotes: `'{word}'`"
    values = [name for name in _READABLE if name in variables]
    return f"no variable has this name: write `variables.NAME`, or read one of {listed(values)}"


def _remedy_for_field(name: str, what: str, written: str, env: Environment) -> str:
    """Return which fields the value has whose field `name` is unknown, or ""."""
    column = int(what.rpartition(_START)[2].split(":")[1])
    # The line is shown after `| `, and the column is that of the dot.
    owner = _READ.search(written[: column + 1])
    kind = dict(env.variables).get(owner[1].split(".")[0]) if owner else None
    for step in owner[1].split(".")[1:] if owner else ():
        kind = env.fields.get(kind.name, {}).get(step) if kind else None
    fields = env.fields.get(kind.name, {}) if kind else {}
    if not owner or not fields:
        near = nearest(name, (field for every in env.fields.values() for field in every), _NEAR)
        return f"did you mean `{near}`?" if near else ""
    below = next((one for one in fields if name in env.fields.get(fields[one].name, ())), "")
    if below:
        return f"the field is `{owner[1]}.{below}.{name}`"
    near = nearest(name, fields)
    return f"did you mean `{owner[1]}.{near}`?" if near else f"its fields are {listed(fields)}"


def _signatures(what: str, env: Environment) -> str:
    """Return how the function is called whose arguments are wrong, or what a value has, or ""."""
    found = _NO_OVERLOAD.search(what) or _OF_TYPE.search(what)
    if found is None:
        return ""
    *names, kind = (one.rstrip(".") for one in found.groups())
    methods = [
        (name, one)
        for name, every in env.functions.items()
        for one in every.overloads
        if one.member and show(one.arguments[0]).partition("(")[0] == kind
    ]
    called = [(name, one) for name, one in methods if name in names]
    if not methods:
        # Policies for HTTP requests and payloads of Envoy have functions of their own.
        known = (env.functions[name] for name in names if name in env.functions)
        called = [(every.name, one) for every in known for one in every.overloads]
    if called:
        shown = (signature(*one).replace(".Context.", ".") for one in called)
        return f"it is called as {listed(shown)}"
    return f"it has the functions {listed({name for name, _ in methods})}" if methods else ""


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
    *,
    advice: str = "",
) -> Diagnostic:
    """Return an error about a policy, with the expression, a mark at the error, and a `remedy`.

    `advice` replaces the remedy that is found in the message.
    """
    what, *lines = message.split("\n")
    text = f"{about}: {what.removeprefix(_START)}"
    excerpt = [line.strip() for line in lines]
    note = advice or remedy(message, names, env)
    if note:
        excerpt.append(f"note: {note}")
    return Diagnostic(code, Severity.ERROR, text, location, tuple(excerpt))
