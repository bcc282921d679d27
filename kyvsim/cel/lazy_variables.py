"""The variables of a policy: expressions that are evaluated when they are first asked for."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Generic, TypeAlias, TypeVar

from kyvsim.cel.errors import BudgetError, CelError
from kyvsim.cel.program import Program
from kyvsim.cel.types import CelType
from kyvsim.kubernetes.go_text import quote

_Known = TypeVar("_Known")
Evaluate: TypeAlias = Callable[[str, _Known, Sequence[Any]], Any]
"""Returns the value of a variable with some name and expression, where these values are seen."""


class LazyVariables(dict[str, Any], Generic[_Known]):
    """The variables of a policy on one request, each evaluated when it is first asked for.

    A loop over them goes through the values and not through the names.
    upstream: k8s.io/apiserver pkg/cel/lazy/lazy.go
    """

    only_own_kind = True

    def __init__(
        self,
        kind: CelType,
        known: Mapping[str, _Known],
        values: Sequence[Any],
        evaluate: Evaluate[_Known],
    ) -> None:
        """Take the values that their own expressions see, these variables among them."""
        super().__init__()
        self.cel_type = kind
        self._known = known
        self._values = values
        self._evaluate = evaluate

    def __iter__(self) -> Iterator[Any]:
        return (self[name] for name in self._known)

    def __contains__(self, name: object) -> bool:
        return name in self._known

    def __missing__(self, name: str) -> Any:
        found = self[name] = self._evaluate(name, self._known[name], self._values)
        return found


def plainly(_name: str, program: Program, values: Sequence[Any]) -> Any:
    """Return the value of a variable; its errors are those of who reads it."""
    return program.value(values)


def composited(name: str, program: Program, values: Sequence[Any]) -> Any:
    """Return the value of a variable; its errors name it.

    upstream: k8s.io/apiserver pkg/admission/plugin/cel/composition.go
    """
    try:
        return program.evaluate(values)
    except (CelError, BudgetError) as error:
        raise CelError(f"composited variable {quote(name)} fails to evaluate: {error}") from None
