"""Documents with variables: compiled once, rendered for every evaluation.

upstream: pkg/engine/variables/vars.go (`SubstituteAll`) and pkg/engine/jsonutils. Strings and keys
anywhere in a document may contain variables. Parts without variables are shared with the document.
"""

import re
from collections.abc import Callable, Iterator
from itertools import count
from typing import Final, NamedTuple, NoReturn, TypeAlias

from kyvsim.jmespath.query import NodeHook
from kyvsim.jmespath.variables import (
    Resolver,
    RuleScope,
    SubstitutionError,
    Variable,
    compile_variable,
    find_variables,
    is_plain,
    plain_pieces,
    remains_of,
    unescape,
)
from kyvsim.kubernetes.go_text import clean_path, sprint, to_json
from kyvsim.kubernetes.objects import Json, contains_text
from kyvsim.kubernetes.wildcard import OPERATORS
from kyvsim.model.ports import FEW, SHORT, Meter, System
from kyvsim.policy.anchors import parse_anchor

# Replacing variables that only exist at evaluation: in values of queries.
#
# upstream: `substituteVariablesIfAny` in pkg/engine/variables/vars.go and pkg/engine/jsonutils.
# Upstream never terminates if a value contains itself; here replacement has a limit.

_MOST_VARIABLES: Final = 10_000
_MOST_NESTED: Final = 40
_HOLDERS: Final[frozenset[type]] = frozenset({dict, list})
_LONGEST_TEXT: Final = 1 << 22


class Filling(NamedTuple):
    """The replacement of variables in one leaf: the source of values, and the work done."""

    scope: RuleScope
    system: System
    steps: Iterator[int]


def fill_text(text: str, path: str, filling: Filling) -> object:
    """Return the string with all variables replaced, repeatedly, until none is left.

    If the string is only one variable, the result is its value.
    """
    for _ in range(_MOST_NESTED):
        variables = find_variables(text)
        if not variables:
            return unescape(text)
        if variables[0].text == text:
            return _value(variables[0], path, filling)
        first, *rest = plain_pieces(text, variables)
        filled, length = [first], len(text)
        for variable, piece in zip(variables, rest, strict=True):
            shown = show(variable, _value(variable, path, filling), path, filling.system.meter)
            filled += (shown, piece)
            length += len(shown)
            if length > _LONGEST_TEXT:
                raise _endless(variable, path)
        text = "".join(filled)
        if variables[-1].shallow:
            return unescape(text)
    raise _endless(variables[0], path)


def show(variable: Variable, value: object, path: str, meter: Meter) -> str:
    """Return a value as part of a string: strings unchanged, the rest as JSON."""
    if value.__class__ is dict or value.__class__ is list:
        meter.weigh(value)
    try:
        shown = value if value.__class__ is str else to_json(value)
    except ValueError as error:
        raise SubstitutionError(
            f"failed to resolve {variable.expression} at path {path}: {error}"
        ) from None
    if len(shown) > SHORT:
        meter.spend_text(len(shown))
    return shown.replace("{{", "\\{{") if variable.shallow else shown


def fill_value(value: Json, path: str, filling: Filling, nested: int = 0) -> object:
    """Return a value with the variables in its strings and keys replaced; shared if it has none."""
    # A short list of strings and numbers is not counted.
    if value.__class__ is not str and not (
        value.__class__ is list and len(value) <= FEW and _HOLDERS.isdisjoint(map(type, value))
    ):
        filling.system.meter.weigh(value)
    if is_plain(value):
        return value
    if nested > _MOST_NESTED:
        raise SubstitutionError(f"variables at path {path} refer to each other in a cycle")
    if value.__class__ is str:
        filled = fill_text(value, path, filling)
        return filled if filled.__class__ is str else fill_value(filled, path, filling, nested + 1)
    if value.__class__ is list:
        return [
            fill_value(item, f"{path}/{place}", filling, nested) for place, item in enumerate(value)
        ]
    filled_map = {}
    for key, item in value.items():
        new_key = checked_key(key, fill_text(key, path, filling)) if "{{" in key else key
        filled_map[new_key] = fill_value(item, join(path, key), filling, nested)
    return filled_map


def join(path: str, key: str) -> str:
    """Return the path of a key's value."""
    return f"{path}/{key.replace('/', chr(92) + '/')}" if "/" in key else f"{path}/{key}"


def checked_key(key: str, filled: object) -> str:
    """Return the new name of a key: the old one for null; any value but a string is an error."""
    if filled is None:
        return key
    if filled.__class__ is not str:
        raise SubstitutionError(f'expected string after substituting variables in key "{key}"')
    return filled


def _value(variable: Variable, path: str, filling: Filling) -> object:
    if next(filling.steps) > _MOST_VARIABLES:
        raise _endless(variable, path)
    return compile_variable(variable.expression, path, filling.system).resolve(filling.scope, path)


def _endless(variable: Variable, path: str) -> SubstitutionError:
    return SubstitutionError(
        f"failed to resolve {variable.expression} at path {path}: its value expands endlessly"
    )


# References `$(./../x)`: strings that repeat another leaf of their own document.
#
# upstream: `substituteReferencesIfAny` and `resolveReference` in pkg/engine/variables/vars.go. They
# depend only on the document, so they are resolved when it is compiled.

_REFERENCE = r"^\$\(.[^ ]*\)|[^\\]\$\(.[^ ]*\)"
_ESCAPED = r"\\\$\(.[^ )]*\)"
_OPERATORS: Final = tuple(filter(None, OPERATORS))


def resolve_references(document: object) -> object:
    """Return the document with references resolved; the same object if it has none.

    Raises `SubstitutionError` with upstream's text.
    """
    return _resolved(document, "", document)


def _resolved(value: Json, path: str, document: object) -> object:
    if not _has_reference(value):
        return value
    if value.__class__ is str:
        return _resolved_text(value, path, document)
    if value.__class__ is list:
        return [_resolved(item, f"{path}/{n}", document) for n, item in enumerate(value)]
    return {
        checked_key(key, _resolved(key, path, document)): _resolved(item, join(path, key), document)
        for key, item in value.items()
    }


def _has_reference(value: object) -> bool:
    if value.__class__ is str:
        return "$(" in value
    if value.__class__ is dict:
        return any("$(" in key for key in value) or any(map(_has_reference, value.values()))
    return value.__class__ is list and any(map(_has_reference, value))


def _resolved_text(text: str, path: str, document: object) -> str:
    for found in re.findall(_REFERENCE, text):
        before = "" if found.startswith("$(") else found[0]
        reference = remains_of(before) + found[len(before) :]
        try:
            value = _referred(reference, path, document)
        except SubstitutionError as error:
            raise SubstitutionError(
                f"failed to resolve {reference} at path {path}: {error.message}"
            ) from None
        if value is None:
            raise SubstitutionError(f"got nil resolved variable {reference} at path {path}: <nil>")
        if value.__class__ is not str:
            raise SubstitutionError(
                f"NotResolvedReferenceErr,reference {reference} not resolved at path {path}"
            )
        # Upstream keeps the first byte of a non-ASCII character, which Go reads as a character.
        kept = before if before.isascii() else chr(before.encode("utf-8", "surrogatepass")[0])
        text = text.replace(found, kept + value, 1)
    for found in re.findall(_ESCAPED, text):
        text = text.replace(found, found[1:])
    return text


def _referred(reference: str, path: str, document: object) -> object:
    """Return the value of the leaf referred to, or a string with the operator before it."""
    target = reference.strip("$()")
    operator = ""
    if len(target) > 1:
        operator = next((sign for sign in _OPERATORS if target.startswith(sign)), "")
        target = target[len(operator) :]
    if not target:
        raise SubstitutionError("expected path, found empty reference")
    if not target.startswith("/"):
        target = clean_path(f"{path}/{target}")
    value = None
    for place, leaf in _leaves(document, ""):
        parts = [
            anchor.key if (anchor := parse_anchor(part)) else part
            for part in place.removeprefix("/").split("/")
        ]
        cleaned = clean_path("/".join(part for part in parts if part))
        if (f"/{cleaned}" if place.startswith("/") else cleaned) == target:
            value = leaf
    return operator + _as_text(value, operator) if operator else value


def _as_text(value: object, operator: str) -> str:
    if value.__class__ is str or value.__class__ is int:
        return str(value)
    if value.__class__ is float:
        return f"{value:f}"
    raise SubstitutionError(
        f"incorrect expression: operator {operator} does not match with value {sprint(value)}"
    )


def _leaves(value: object, path: str) -> Iterator[tuple[str, object]]:
    """Yield every leaf with its path, and every key with the path of its map."""
    if value.__class__ is dict:
        for key, item in value.items():
            yield path, key
            yield from _leaves(item, join(path, key))
    elif value.__class__ is list:
        for place, item in enumerate(value):
            yield from _leaves(item, f"{path}/{place}")
    else:
        yield path, value


Render: TypeAlias = Callable[[RuleScope], Json]


class Template(NamedTuple):
    """A compiled document."""

    constant: bool
    """Whether it does not depend on the scope: `value` is the result."""
    value: Json
    names: frozenset[str]
    """Names of context entries that its variables may load."""
    render: Render
    """Returns the rendered document; raises `SubstitutionError` with upstream's text."""


class _RenderedPart(NamedTuple):
    """A part of a document: its value, or a function that renders it."""

    value: object
    render: Render | None = None
    names: frozenset[str] = frozenset()


VariableHook: TypeAlias = Callable[[Variable], NodeHook]
"""Returns the hook for the parts of a variable."""


def compile_template(data: object, system: System, on_node: VariableHook | None = None) -> Template:
    """Return the template of any document; errors are raised by rendering, as in upstream.

    Paths in messages and `{{@}}` start at the top of `data`. `on_node` is called for the variables
    of a string, but not of strings inside a document.
    """
    if not contains_text(data, "{{", "$("):
        return Template(True, data, frozenset(), lambda _: data)
    try:
        data = resolve_references(data)
        if data.__class__ is str and "{{" in data:
            part = _text(data, "", system, on_node)
        else:
            part = _part(data, "", system)
    except SubstitutionError as error:
        message, not_found = error.message, error.not_found

        def fail(_: RuleScope) -> NoReturn:
            raise SubstitutionError(message, not_found=not_found)

        return Template(False, None, frozenset(), fail)
    if part.render is None:
        value = part.value
        return Template(True, value, frozenset(), lambda _: value)
    return Template(False, None, part.names, part.render)


def _part(data: object, path: str, system: System) -> _RenderedPart:
    if data.__class__ is str:
        return _text(data, path, system) if "{{" in data else _RenderedPart(data)
    if data.__class__ is dict:
        return _map(data, path, system)
    if data.__class__ is list:
        parts = [_part(item, f"{path}/{place}", system) for place, item in enumerate(data)]
        values = [part.value for part in parts]
        if all(new is old for new, old in zip(values, data, strict=True)):
            values = data
        renders = [(place, part.render) for place, part in enumerate(parts) if part.render]
        if not renders:
            return _RenderedPart(values)

        def render(scope: RuleScope) -> object:
            filled = list(values)
            for place, fill in renders:
                filled[place] = fill(scope)
            return filled

        return _RenderedPart(values, render, frozenset().union(*(part.names for part in parts)))
    return _RenderedPart(data)


def _map(data: dict[str, object], path: str, system: System) -> _RenderedPart:
    keys = [_part(key, path, system) for key in data]
    parts = [_part(item, join(path, key), system) for key, item in data.items()]
    names = frozenset().union(*(part.names for part in [*keys, *parts]))
    values = {key.value: part.value for key, part in zip(keys, parts, strict=True)}
    if any(key.render for key in keys):

        def render_keys(scope: RuleScope) -> object:
            made = {}
            for old, key, part in zip(data, keys, parts, strict=True):
                name = checked_key(old, key.render(scope)) if key.render else key.value
                made[name] = part.render(scope) if part.render else part.value
            return made

        return _RenderedPart(data, render_keys, names)
    renders = [
        (key.value, part.render) for key, part in zip(keys, parts, strict=True) if part.render
    ]
    if not renders:
        same = all(values.get(key, values) is item for key, item in data.items())
        return _RenderedPart(data if same else values)

    def render(scope: RuleScope) -> object:
        filled = dict(values)
        for key, fill in renders:
            filled[key] = fill(scope)
        return filled

    return _RenderedPart(data, render, names)


def _text(
    text: str, path: str, system: System, on_node: VariableHook | None = None
) -> _RenderedPart:
    variables = find_variables(text)
    if not variables:
        return _RenderedPart(unescape(text))
    resolvers = [
        compile_variable(one.expression, path, system, on_node(one) if on_node else None)
        for one in variables
    ]
    names = frozenset().union(*(resolver.names for resolver in resolvers))
    if variables[0].text == text:
        resolve = resolvers[0].resolve

        def render(scope: RuleScope) -> object:
            value = resolve(scope, path)
            if value.__class__ is dict or value.__class__ is list:
                return fill_value(value, path, Filling(scope, system, count()))
            return value

        return _RenderedPart(text, render, names)
    pieces = plain_pieces(text, variables)
    if any("{{" in piece for piece in pieces):

        def fill(scope: RuleScope) -> object:
            return fill_text(text, path, Filling(scope, system, count()))

        return _RenderedPart(text, fill, names)
    return _RenderedPart(
        text, _joined(pieces, list(zip(variables, resolvers, strict=True)), path, system), names
    )


def _joined(
    pieces: list[str], variables: list[tuple[Variable, Resolver]], path: str, system: System
) -> Render:
    """Render texts and the values between them; values with braces are replaced repeatedly."""
    first, *rest = pieces
    steps = [
        (variable, resolver.resolve, piece)
        for (variable, resolver), piece in zip(variables, rest, strict=True)
    ]
    shallow, meter = variables[-1][0].shallow, system.meter

    def render(scope: RuleScope) -> object:
        text = first
        for variable, resolve, piece in steps:
            text += show(variable, resolve(scope, path), path, meter) + piece
        if "{{" not in text:
            return text
        return unescape(text) if shallow else fill_text(text, path, Filling(scope, system, count()))

    return render
