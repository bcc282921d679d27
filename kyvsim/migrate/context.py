"""The shared state of a conversion: variables, conditions and errors."""

from collections.abc import Callable, Container, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Final, NamedTuple, ParamSpec, TypeVar

from kyvsim.kubernetes.objects import Path, path_text
from kyvsim.migrate.values import Expr
from kyvsim.model.migration import ConversionCondition, ConversionOutcome, RuleOutcome
from kyvsim.model.source import Document

_NOT_NAMES: Final = frozenset(
    (  # noqa: SIM905 — a list of words
        "as break const continue else for function if import let loop package namespace return var"
        " void while in true false null object oldObject request variables resource"
        " namespaceObject images image exceptions http json yaml time random map string int double"
        " bool bytes type list duration timestamp size has all exists filter quantity"
    ).split()
)
"""Reserved words of CEL, and names that a policy's expressions already have."""


class ConversionContext(NamedTuple):
    """Collects what a policy needs in addition to the converted expressions."""

    variables: dict[str, str]
    """The expressions of variables by name, in order."""
    optional_names: set[str]
    """Names of variables that are omitted if they are unused."""
    conditions: dict[str, ConversionCondition]
    """The conditions of the conversion, by name; the first one of a name counts."""

    def note(self, condition: ConversionCondition) -> None:
        """Record a condition under which the conversion is correct."""
        self.conditions.setdefault(condition.name, condition)

    def optional_variable(self, name: str, text: str) -> str:
        """Return the same as `variable`, for one that is omitted if it is unused."""
        found = self.variable(name, text)
        self.optional_names.add(found.removeprefix("variables."))
        return found

    def variable(self, name: str, text: str) -> str:
        """Return the name of a variable with this expression; an existing one is reused."""
        for known, other in self.variables.items():
            if other == text:
                return f"variables.{known}"
        free = free_name(name, self.variables)
        self.variables[free] = text
        return f"variables.{free}"


def free_name(name: str, taken: Container[str], sign: str = "") -> str:
    """Return a name that is not taken: if necessary with `sign` and a number."""
    free, number = name, 2
    while free in taken:
        free, number = f"{name}{sign}{number}", number + 1
    return free


def element_for(listed: Expr, taken: frozenset[str]) -> Expr:
    """Return the elements of a list as a value with a free name."""
    noun = listed.noun[:1].lower() + listed.noun[1:]
    word = "".join(one for one in noun if one.isascii() and one.isalnum())
    name = "item"
    if not word[:1].isalpha():
        pass
    elif word.lower().endswith("containers"):
        name = "container"
    elif word == "env":
        name = "variable"
    elif word.endswith("ies"):
        name = f"{word[:-3]}y"
    elif word.endswith(("sses", "xes", "ches")):
        name = word[:-2]
    elif word.endswith("s") and not word.endswith("ss") and len(word) > 2:
        name = word[:-1]
    name = free_name("item" if name in _NOT_NAMES else name, taken)
    return Expr(name, listed.element_types, noun=listed.noun)


# Errors for features without an equivalent in CEL.

_Given = ParamSpec("_Given")
_Found = TypeVar("_Found")


class NotConvertible(Exception):  # noqa: N818 — not an error of kyvsim
    """A feature without an equivalent in CEL: what it is, advice, and its path."""

    def __init__(self, what: str, advice: str, path: Path = ()) -> None:
        super().__init__(what)
        self.what = what
        self.advice = advice
        self.path = path
        """Its path in the document; `located` sets it if it is unknown."""


@contextmanager
def located(path: Path) -> Iterator[None]:
    """Set the path of errors in the block, unless it is known."""
    try:
        yield
    except NotConvertible as refusal:
        refusal.path = refusal.path or path
        raise


def within(
    path: Path, convert: Callable[_Given, _Found], *given: _Given.args, **named: _Given.kwargs
) -> _Found:
    """Return the result of a conversion; set the path of its errors."""
    with located(path):
        return convert(*given, **named)


USER_KNOWN: Final = ConversionCondition(
    "user known",
    "the requesting user is always known at admission, offline only with --userinfo, and "
    "never in scans",
)


class Scope(NamedTuple):
    """The meaning of names in an expression."""

    context: ConversionContext
    object: Expr
    old: Expr
    names: Mapping[str, Expr] = MappingProxyType({})
    """Context entries and elements."""
    current: Expr | None = None
    """The value in which fields are looked up; None for the top level."""
    taken: frozenset[str] = frozenset()
    rest: Expr | None = None
    """The value whose fields all other names are; None if they are unknown."""
    namespace: str = ""
    """The namespace of the policy, "" if it is cluster-scoped."""
    patching: bool = False
    """Whether objects are patched: the order of lists counts, and values can change."""
    marked: tuple[Expr, ...] = ()
    """The values of nested variables in the current query, by the numbers of their markers."""
    at_rest: bool = False
    """Whether existing objects are evaluated, without a request."""

    def within(self, value: Expr) -> "Scope":
        """Return the scope for fields of a value."""
        return self._replace(current=value)

    def element(self, listed: Expr) -> Expr:
        """Return the elements of a list as a value."""
        return element_for(listed, self.taken)

    def with_element(self, element: Expr) -> "Scope":
        """Return the scope of a loop over elements."""
        return self._replace(current=element, taken=self.taken | {element.text})


def unsupported(
    what: str, advice: str = "rewrite the expression by hand", path: Path = ()
) -> NotConvertible:
    """Return the error that a part of an expression cannot be converted."""
    return NotConvertible(f"{what} cannot be converted to CEL", advice, path)


def converted_outcome(
    document: Document, name: str, path: Path, context: ConversionContext
) -> RuleOutcome:
    """Return the outcome of a successful conversion, with its conditions."""
    conditions = tuple(context.conditions.values())
    outcome = ConversionOutcome.CONDITIONAL if conditions else ConversionOutcome.CONVERTED
    return RuleOutcome(name, outcome, document.locate(path), path_text(path), conditions=conditions)


def refused_outcome(
    document: Document, name: str, path: Path, refusal: NotConvertible
) -> RuleOutcome:
    """Return the outcome of a failed conversion; `path` is used if the error has no path."""
    path = refusal.path or path
    place, what, advice = document.locate(path), refusal.what, refusal.advice
    outcome = ConversionOutcome.REFUSED
    return RuleOutcome(name, outcome, place, path_text(path), reason=what, advice=advice)
