"""JMESPath expressions, and strings with variables → values in CEL."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from kyvsim.jmespath.variables import find_variables, plain_pieces, unescape
from kyvsim.migrate.expressions import SUM, every, is_name, quoted
from kyvsim.migrate.queries.functions import call
from kyvsim.migrate.queries.operators import (
    as_value,
    both,
    comparator,
    either,
    filtered,
    flatten,
    multi_select,
    multi_select_map,
    negation,
    projection,
    values,
)
from kyvsim.migrate.queries.scope import (
    USER_KNOWN,
    Scope,
    Tree,
    constant,
    is_marked,
    marked_text,
    no_twin,
    shown,
    tree_of,
    with_marks,
)
from kyvsim.migrate.values import TEXT, UNKNOWN, Expr, element_of, is_list, list_of

# Names and fields: `request.object.spec.replicas`, `element.name`, `labels."a/b"`.

_REQUEST: Final = "request"
_PLAIN: Final = frozenset({"operation", "namespace", "name"})
_TYPED: Final = frozenset({"kind", "resource", "requestKind", "requestResource"})
_USER: Final[Mapping[str, Expr]] = MappingProxyType(
    {
        "username": Expr("request.userInfo.username", TEXT, noun="username"),
        "groups": Expr("request.userInfo.groups", list_of(TEXT), noun="groups"),
        "uid": Expr("request.userInfo.uid", TEXT, noun="uid"),
    }
)


def field(tree: Tree, scope: Scope) -> Expr:
    """Return a field of the current value, or the value of a name."""
    key = tree["value"]
    current = scope.current
    if is_marked(key):
        return _chosen(key, scope)
    if current is None:
        return _named(key, scope)
    if current.text == _REQUEST:
        return _of_request(key, scope)
    if current.text == "request.userInfo":
        scope.context.note(USER_KNOWN)
        if key not in _USER:
            return current.child(key)
        return _USER[key]
    if current.text == "request" or (
        current.noun in _TYPED and current.text.startswith("request.")
    ):
        return Expr(f"{current.text}.{key}", TEXT, noun=key)
    return current.child(key)


def _chosen(key: str, scope: Scope) -> Expr:
    """Return the field whose name comes from other variables."""
    if scope.current is None or scope.current.text.startswith("request"):
        raise no_twin("a name that is computed by another variable", "name the field")
    return scope.current.entry(marked_text(key, scope).text)


def _named(key: str, scope: Scope) -> Expr:
    if key == _REQUEST:
        return Expr(_REQUEST)
    if key in scope.names:
        return scope.names[key]
    if key == "serviceAccountName":
        scope.context.note(USER_KNOWN)
        return Expr("parseServiceAccount(request.userInfo.username).Name", TEXT)
    if key == "serviceAccountNamespace":
        scope.context.note(USER_KNOWN)
        return Expr("parseServiceAccount(request.userInfo.username).Namespace", TEXT)
    if key == "images":
        raise no_twin(
            "`images`",
            "use `image(...)` of each container, which adds `library/` where a rule does not, "
            "or an ImageValidatingPolicy",
        )
    if not key:
        return constant(None)  # `x || ""`: a name that nothing has, and not an empty text
    if scope.rest is not None:
        return scope.rest.child(key)
    raise no_twin(f"the name `{key}`")


def _of_request(key: str, scope: Scope) -> Expr:
    if scope.at_rest:
        if key == "namespace":
            return scope.object.child("metadata").child("namespace")
        raise no_twin(f"`request.{key}`", "use `target`: there is no request")
    if key == "object":
        return scope.object
    if key == "oldObject":
        return scope.old
    if key in _PLAIN:
        return Expr(f"request.{key}", TEXT, noun=key)
    if key in _TYPED or key == "userInfo":
        return Expr(f"request.{key}", UNKNOWN, noun=key)
    if key == "dryRun":
        return Expr("request.dryRun")
    raise no_twin(f"`request.{key}`", "use groups or names of users instead")


def subexpression(tree: Tree, scope: Scope) -> Expr:
    """Return what a chain of steps leads to."""
    value = scope.current
    for place, step in enumerate(tree["children"]):
        # Behind a pipe the first step is a call with null: an error, where `x.f(@)` is nothing.
        if place and value is not None and value.may_miss and step["type"] == "function_expression":
            value = _called(step, value, scope)
        else:
            value = scope.read(step, scope if value is None else scope.within(value))
    if value is None:  # pragma: no cover — the parser makes no chain without a step
        raise no_twin("an empty expression")
    return value


def _called(step: Tree, value: Expr, scope: Scope) -> Expr:
    """Return `x.f(@)`, which is nothing where there is no `x`."""
    found = scope.read(step, scope.within(value.given()))
    if found.test is not None:
        return as_value(every([value.is_there(), found.test]))
    if not is_list(found.types):
        return found._replace(needs=(*found.needs, value.is_there())).if_needed_is_there()
    text = value.or_else(value.empty)
    softly = scope.read(step, scope.within(value.given()._replace(text=text, level=8)))
    return found._replace(soft=softly.text)


def identity(_: Tree, scope: Scope) -> Expr:
    """Return the current value."""
    if scope.current is None:
        raise no_twin("`@` outside a list")
    return scope.current


def index(tree: Tree, scope: Scope) -> Expr:
    """Return one element of a list; a list that is too short has null there."""
    current = identity(tree, scope)
    place = tree["value"]
    before = current.tight()
    element = Expr("", element_of(current.types), noun=current.noun, nullable=not current.optional)
    if place < -1:
        raise no_twin("an index from the end")
    # A list that is made of nothing is null, whose elements are null: no error, and no need.
    needs = () if current.soft else current.needs
    if place == -1:
        listed = current.or_else([]) if current.optional or current.soft else before
        text, optional = f"{before}.last().value()", f"{listed}.last()"
    else:
        text = f"{before}[{place}]"
        optional = f"{current.optional or current.soft or before}[?{place}]"
    return element._replace(text=text, optional=optional, needs=needs)


def variable_name(name: str) -> str:
    """Return a name of a context entry as one that CEL takes."""
    words = [one for one in name.replace(".", "-").replace("_", "-").split("-") if one]
    if is_name(name) and "_" not in name:
        return name
    first, *rest = words or ["entry"]
    return "".join((first, *(one[:1].upper() + one[1:] for one in rest)))


# Trees of JMESPath expressions → values: one converter for each kind of node.


def query_value(text: str, scope: Scope) -> Expr:
    """Return the value of an expression; raise NotConvertible where it has no twin."""
    text, scope = with_marks(text, scope, depth=1)
    return read(tree_of(text), scope._replace(current=None))


def query_within(text: str, scope: Scope, value: Expr) -> Expr:
    """Return what an expression finds in a value; raise NotConvertible where it has no twin."""
    text, scope = with_marks(text, scope, depth=1)
    return read(tree_of(text), scope.within(value))


def read(tree: Tree, scope: Scope) -> Expr:
    """Return the value of a tree."""
    convert = _NODES.get(tree["type"])
    if convert is None:
        raise no_twin(f"`{tree['type'].replace('_', ' ')}`")
    return convert(tree, scope)


def _pipe(tree: Tree, scope: Scope) -> Expr:
    left, right = tree["children"]
    return read(right, scope.within(read(left, scope)))


def _literal(tree: Tree, scope: Scope) -> Expr:
    value = tree["value"]
    return marked_text(value, scope) if is_marked(value) else constant(value)


_NODES: Final[Mapping[str, Callable[[Tree, Scope], Expr]]] = MappingProxyType(
    {
        "field": field,
        "subexpression": subexpression,
        "index_expression": subexpression,
        "index": index,
        "identity": identity,
        "current": identity,
        "literal": _literal,
        "comparator": comparator,
        "or_expression": either,
        "and_expression": both,
        "not_expression": negation,
        "projection": projection,
        "flatten": flatten,
        "filter_projection": filtered,
        "value_projection": values,
        "multi_select_list": multi_select,
        "multi_select_dict": multi_select_map,
        "function_expression": call,
        "pipe": _pipe,
    }
)

# Texts with variables → values.


def text_value(text: str, scope: Scope) -> Expr:
    """Return the value of a text: fixed, one variable's, or pieces joined."""
    text, scope = with_marks(text, scope)
    variables = find_variables(text)
    if not variables:
        return constant(unescape(text))
    if variables[0].text == text and "{{" not in variables[0].expression:
        return query_value(variables[0].expression, scope)
    parts = [
        quoted(one) if isinstance(one, str) else shown(one) for one in text_pieces(text, scope)
    ]
    return Expr(" + ".join(parts), TEXT, SUM)


def text_pieces(text: str, scope: Scope) -> list[str | Expr]:
    """Return what a text is made of: fixed pieces that are not empty, and values of variables."""
    text, scope = with_marks(text, scope)
    variables = find_variables(text)
    pieces = plain_pieces(text, variables) if variables else [text]
    if any(map(_is_open, [*pieces, *(one.expression for one in variables)])):
        raise no_twin("a variable that is not closed")
    found: list[str | Expr] = []
    for number, piece in enumerate(pieces):
        if number:
            found.append(query_value(variables[number - 1].expression, scope))
        if piece:
            found.append(unescape(piece))
    return found


def _is_open(text: str) -> bool:
    """Return whether a variable begins in the rest of a string, or within a variable."""
    return "{{" in text.replace("\\{{", "")
