"""Documents with variables: compiled once, filled in for every evaluation.

upstream: pkg/engine/variables/vars.go (`SubstituteAll`) and pkg/engine/jsonutils. Texts and keys
anywhere in a document may hold variables. Parts without any are shared with the document.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from kyvsim.expr.errors import SubstitutionError
from kyvsim.expr.fill import checked_key, fill_text, fill_value, join, show, start
from kyvsim.expr.query import Hear
from kyvsim.expr.references import resolve_references
from kyvsim.expr.resolve import Resolver, compile_variable
from kyvsim.expr.scope import RuleScope
from kyvsim.expr.variables import Variable, find_variables, plain_pieces, unescape
from kyvsim.kube.objects import Json, contains_text
from kyvsim.model.ports import System

Render: TypeAlias = Callable[[RuleScope], Json]


class Template(NamedTuple):
    """A compiled document."""

    constant: bool
    """Nothing in it depends on the scope: `value` is the result."""
    value: Json
    names: frozenset[str]
    """Names of context entries that the variables in it may load."""
    render: Render
    """Returns the filled-in document; raises `SubstitutionError` with upstream's text."""


class _Part(NamedTuple):
    """A piece of a document: its value, or what makes it."""

    value: Json
    render: Render | None = None
    names: frozenset[str] = frozenset()


HearVariable: TypeAlias = Callable[[Variable], Hear]
"""Returns who hears of the parts of a variable."""


def compile_template(data: Json, system: System, hear: HearVariable | None = None) -> Template:
    """Return the template of any document; faults show when it is rendered, as upstream's do.

    Paths in messages and `{{@}}` count from the top of `data`. Of the variables of a text, and not
    of one inside of a document, `hear` is told.
    """
    if not contains_text(data, "{{", "$("):
        return Template(True, data, frozenset(), lambda _: data)
    try:
        data = resolve_references(data)
        is_text = data.__class__ is str and "{{" in data
        part = _text(data, "", system, hear) if is_text else _part(data, "", system)
    except SubstitutionError as error:
        return Template(False, None, frozenset(), _raising(error))
    if part.render is None:
        value = part.value
        return Template(True, value, frozenset(), lambda _: value)
    return Template(False, None, part.names, part.render)


def _raising(error: SubstitutionError) -> Render:
    def render(_: RuleScope) -> Json:
        raise SubstitutionError(error.message, not_found=error.not_found)

    return render


def _part(data: Json, path: str, system: System) -> _Part:
    kind = data.__class__
    if kind is str:
        return _text(data, path, system) if "{{" in data else _Part(data)
    if kind is dict:
        return _map(data, path, system)
    if kind is list:
        return _list(data, path, system)
    return _Part(data)


def _list(data: list[Json], path: str, system: System) -> _Part:
    parts = [_part(item, f"{path}/{place}", system) for place, item in enumerate(data)]
    values = [part.value for part in parts]
    if all(new is old for new, old in zip(values, data, strict=True)):
        values = data
    renders = [(place, part.render) for place, part in enumerate(parts) if part.render]
    if not renders:
        return _Part(values)

    def render(scope: RuleScope) -> Json:
        filled = list(values)
        for place, fill in renders:
            filled[place] = fill(scope)
        return filled

    return _Part(values, render, frozenset().union(*(part.names for part in parts)))


def _map(data: dict[str, Json], path: str, system: System) -> _Part:
    keys = [_part(key, path, system) for key in data]
    parts = [_part(item, join(path, key), system) for key, item in data.items()]
    names = frozenset().union(*(part.names for part in [*keys, *parts]))
    values = {key.value: part.value for key, part in zip(keys, parts, strict=True)}
    if any(key.render for key in keys):
        return _Part(data, _render_keys(data, keys, parts), names)
    renders = [
        (key.value, part.render) for key, part in zip(keys, parts, strict=True) if part.render
    ]
    if not renders:
        same = all(values.get(key, values) is item for key, item in data.items())
        return _Part(data if same else values)

    def render(scope: RuleScope) -> Json:
        filled = dict(values)
        for key, fill in renders:
            filled[key] = fill(scope)
        return filled

    return _Part(data, render, names)


def _render_keys(data: dict[str, Json], keys: list[_Part], parts: list[_Part]) -> Render:
    """Render a map in which keys have variables: it is built anew."""

    def render(scope: RuleScope) -> Json:
        filled = {}
        for old, key, part in zip(data, keys, parts, strict=True):
            name = checked_key(old, key.render(scope)) if key.render else key.value
            filled[name] = part.render(scope) if part.render else part.value
        return filled

    return render


def _text(text: str, path: str, system: System, hear: HearVariable | None = None) -> _Part:
    variables = find_variables(text)
    if not variables:
        return _Part(unescape(text))
    resolvers = [
        compile_variable(one.expression, path, system, hear(one) if hear else None)
        for one in variables
    ]
    names = frozenset().union(*(resolver.names for resolver in resolvers))
    if variables[0].text == text:
        return _Part(text, _whole(resolvers[0], path, system), names)
    pieces = plain_pieces(text, variables)
    if any("{{" in piece for piece in pieces):
        return _Part(text, lambda scope: fill_text(text, path, start(scope, system)), names)
    return _Part(
        text, _joined(pieces, list(zip(variables, resolvers, strict=True)), path, system), names
    )


def _whole(resolver: Resolver, path: str, system: System) -> Render:
    """Render a text that is one variable: the value itself, whatever its type."""
    ask = resolver.ask

    def render(scope: RuleScope) -> Json:
        value = ask(scope, path)
        kind = value.__class__
        return (
            fill_value(value, path, start(scope, system)) if kind is dict or kind is list else value
        )

    return render


def _joined(
    pieces: list[str], variables: list[tuple[Variable, Resolver]], path: str, system: System
) -> Render:
    """Render plain texts with values between; texts that bring new braces get further rounds."""
    first, *rest = pieces
    steps = [
        (variable, resolver.ask, piece)
        for (variable, resolver), piece in zip(variables, rest, strict=True)
    ]
    shallow, meter = variables[-1][0].shallow, system.meter

    def render(scope: RuleScope) -> Json:
        text = first
        for variable, ask, piece in steps:
            text += show(variable, ask(scope, path), path, meter) + piece
        if "{{" not in text:
            return text
        return unescape(text) if shallow else fill_text(text, path, start(scope, system))

    return render
