"""Variables, conditions and refusals that a conversion collects."""

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
"""Words that CEL keeps for itself, and names that a policy's expressions have already."""


class ConversionContext(NamedTuple):
    """Where emitters put what a policy needs beside the expression that they return."""

    variables: dict[str, str]
    """The texts of variables by name, in order."""
    optional_names: set[str]
    """Names of variables that are left out where nothing reads them."""
    conditions: dict[str, ConversionCondition]
    """What the conversion depends on, by name; the first condition of a name counts."""

    def note(self, condition: ConversionCondition) -> None:
        """Write down that something holds under a condition only."""
        self.conditions.setdefault(condition.name, condition)

    def optional_variable(self, name: str, text: str) -> str:
        """Return the same as `variable`, for one that is left out where nothing reads it."""
        found = self.variable(name, text)
        self.optional_names.add(found.removeprefix("variables."))
        return found

    def variable(self, name: str, text: str) -> str:
        """Return the expression of a variable with this text; one that is there serves again."""
        for known, other in self.variables.items():
            if other == text:
                return f"variables.{known}"
        free = free_name(name, self.variables)
        self.variables[free] = text
        return f"variables.{free}"


def free_name(name: str, taken: Container[str], sign: str = "") -> str:
    """Return a name that is not taken: with a number if it has to be, and a sign before that."""
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


# What cannot be expressed in CEL.

_Given = ParamSpec("_Given")
_Found = TypeVar("_Found")


class NotConvertible(Exception):  # noqa: N818 — not an error of kyvsim
    """Something has no equivalent in CEL: what it is, advice, and where it is."""

    def __init__(self, what: str, advice: str, path: Path = ()) -> None:
        super().__init__(what)
        self.what = what
        self.advice = advice
        self.path = path
        """Its path in the document; `located` fills it in where it is not known yet."""


@contextmanager
def located(path: Path) -> Iterator[None]:
    """Give refusals in the block a path, unless something further down gave them its own."""
    try:
        yield
    except NotConvertible as refusal:
        refusal.path = refusal.path or path
        raise


def within(
    path: Path, convert: Callable[_Given, _Found], *given: _Given.args, **named: _Given.kwargs
) -> _Found:
    """Return what a conversion returns; its refusals are located at a path."""
    with located(path):
        return convert(*given, **named)


USER_KNOWN: Final = ConversionCondition(
    "user known",
    "the requesting user is always known at admission, offline only with --userinfo, and "
    "never in scans",
)


class Scope(NamedTuple):
    """What the names of an expression refer to."""

    context: ConversionContext
    object: Expr
    old: Expr
    names: Mapping[str, Expr] = MappingProxyType({})
    """Context entries and elements."""
    current: Expr | None = None
    """What fields are looked up in; None for the names themselves."""
    taken: frozenset[str] = frozenset()
    rest: Expr | None = None
    """The value whose fields all other names are; None if they are unknown."""
    namespace: str = ""
    """The namespace of the policy, "" for one of the cluster."""
    patching: bool = False
    """Whether objects are patched: the order of lists counts, and values may change."""
    marked: tuple[Expr, ...] = ()
    """The values of variables inside of the current query, by the numbers of their marks."""
    at_rest: bool = False
    """Whether objects are looked at as they are, without any request."""

    def within(self, value: Expr) -> "Scope":
        """Return the scope in which fields are those of a value."""
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
    """Return that a part of an expression cannot be converted."""
    return NotConvertible(f"{what} cannot be converted to CEL", advice, path)


def converted_outcome(
    document: Document, name: str, path: Path, context: ConversionContext
) -> RuleOutcome:
    """Return that something was converted, and what that depends on."""
    conditions = tuple(context.conditions.values())
    outcome = ConversionOutcome.CONDITIONAL if conditions else ConversionOutcome.CONVERTED
    return RuleOutcome(name, outcome, document.locate(path), path_text(path), conditions=conditions)


def refused_outcome(
    document: Document, name: str, path: Path, refusal: NotConvertible
) -> RuleOutcome:
    """Return that something was not converted; `path` leads to the whole of it."""
    path = refusal.path or path
    place, what, advice = document.locate(path), refusal.what, refusal.advice
    outcome = ConversionOutcome.REFUSED
    return RuleOutcome(name, outcome, place, path_text(path), reason=what, advice=advice)
