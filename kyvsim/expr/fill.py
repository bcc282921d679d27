"""Filling in variables that only exist now: in texts and values that came out of queries.

upstream: `substituteVariablesIfAny` in pkg/engine/variables/vars.go and pkg/engine/jsonutils.
Upstream never ends where a value holds itself; here every filling has a limit.
"""

from collections.abc import Iterator
from itertools import count
from typing import Final, NamedTuple

from kyvsim.expr.errors import SubstitutionError
from kyvsim.expr.resolve import compile_variable
from kyvsim.expr.scope import RuleScope
from kyvsim.expr.variables import Variable, find_variables, is_plain, plain_pieces, unescape
from kyvsim.kube.go_text import to_json
from kyvsim.kube.objects import Json
from kyvsim.model.budget import FEW, SHORT, Meter
from kyvsim.model.ports import System

_MOST_VARIABLES: Final = 10_000
_MOST_NESTED: Final = 40
_HOLDERS: Final[frozenset[type]] = frozenset({dict, list})
_LONGEST_TEXT: Final = 1 << 22


class Filling(NamedTuple):
    """One filling of one leaf: where values come from, and how much was done."""

    scope: RuleScope
    system: System
    steps: Iterator[int]


def start(scope: RuleScope, system: System) -> Filling:
    """Return a filling that has done nothing yet."""
    return Filling(scope, system, count())


def fill_text(text: str, path: str, filling: Filling) -> Json:
    """Return the text with all variables filled in, round by round, until none is left.

    A text that is one variable and nothing else gives the value itself.
    """
    for _ in range(_MOST_NESTED):
        variables = find_variables(text)
        if not variables:
            return unescape(text)
        if variables[0].text == text:
            return _value(variables[0], path, filling)
        text = _one_round(text, variables, path, filling)
        if variables[-1].shallow:
            return unescape(text)
    raise _endless(variables[0], path)


def _one_round(text: str, variables: tuple[Variable, ...], path: str, filling: Filling) -> str:
    first, *rest = plain_pieces(text, variables)
    filled, length = [first], len(text)
    for variable, piece in zip(variables, rest, strict=True):
        shown = show(variable, _value(variable, path, filling), path, filling.system.meter)
        filled += (shown, piece)
        length += len(shown)
        if length > _LONGEST_TEXT:
            raise _endless(variable, path)
    return "".join(filled)


def show(variable: Variable, value: Json, path: str, meter: Meter) -> str:
    """Return what a value looks like inside of a text: texts as they are, the rest as JSON."""
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


def fill_value(value: Json, path: str, filling: Filling, nested: int = 0) -> Json:
    """Return a value with the variables in its texts and keys filled in; shared if it has none."""
    if value.__class__ is not str and not _is_short(value):
        filling.system.meter.weigh(value)
    if is_plain(value):
        return value
    if nested > _MOST_NESTED:
        raise SubstitutionError(f"variables at path {path} lead back to themselves")
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


def _is_short(value: Json) -> bool:
    """Return whether a value is a short list of texts and numbers: it is not worth counting."""
    return value.__class__ is list and len(value) <= FEW and _HOLDERS.isdisjoint(map(type, value))


def join(path: str, key: str) -> str:
    """Return the path of what stands under a key."""
    return f"{path}/{key.replace('/', chr(92) + '/')}" if "/" in key else f"{path}/{key}"


def checked_key(key: str, filled: Json) -> str:
    """Return the new name of a key: the old one for null; anything but text is an error."""
    if filled is None:
        return key
    if filled.__class__ is not str:
        raise SubstitutionError(f'expected string after substituting variables in key "{key}"')
    return str(filled)


def _value(variable: Variable, path: str, filling: Filling) -> Json:
    if next(filling.steps) > _MOST_VARIABLES:
        raise _endless(variable, path)
    return compile_variable(variable.expression, path, filling.system).ask(filling.scope, path)


def _endless(variable: Variable, path: str) -> SubstitutionError:
    return SubstitutionError(
        f"failed to resolve {variable.expression} at path {path}: its value expands without end"
    )
