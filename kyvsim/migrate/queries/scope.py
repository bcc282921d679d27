"""What names of an expression stand for."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeAlias

from kyvsim.migrate.desk import Desk, name_for_element
from kyvsim.migrate.refusal import NotConvertible
from kyvsim.migrate.values import Value
from kyvsim.model.migration import Condition

Tree: TypeAlias = dict[str, Any]

USER_KNOWN: Final = Condition(
    "user known", "who asks is known: offline only where a file says so, in a scan never"
)


class Scope(NamedTuple):
    """What an expression sees."""

    desk: Desk
    object: Value
    old: Value
    read: "Callable[[Tree, Scope], Value]"
    """Reads an expression below the one at hand."""
    names: Mapping[str, Value] = MappingProxyType({})
    """Context entries and elements."""
    current: Value | None = None
    """What fields are looked up in; None for the names themselves."""
    taken: frozenset[str] = frozenset()
    rest: Value | None = None
    """What names that nothing else stands for are fields of; None where they mean nothing."""
    namespace: str = ""
    """The namespace of the policy, "" for one of the cluster."""
    patching: bool = False
    """Whether objects are patched: the order of lists counts, and what is read may change."""
    marked: tuple[Value, ...] = ()
    """What variables inside of the query at hand come to, by the numbers of their marks."""
    at_rest: bool = False
    """Whether objects are looked at as they are, without any request."""

    def within(self, value: Value) -> "Scope":
        """Return the scope in which fields are those of a value."""
        return self._replace(current=value)

    def element(self, noun: str) -> str:
        """Return a name for the elements of a list."""
        return name_for_element(noun, self.taken)

    def with_element(self, name: str, value: Value) -> "Scope":
        """Return the scope of a loop over elements."""
        return self._replace(current=value, taken=self.taken | {name})


def no_twin(what: str, advice: str = "rewrite the expression by hand") -> NotConvertible:
    """Return that a part of an expression has no twin."""
    return NotConvertible(f"{what} has no twin in CEL", advice)
