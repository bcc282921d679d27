"""The JMESPath functions: one file a family; `table.py` joins them, with the first that is called.

A family file holds plain typed functions and one tuple of records. The code of a record is called
with the evaluated arguments, one by one, after their types were checked against the record as
upstream does (kyverno/go-jmespath `functions.go`):

* A number is a Python `float` only: an `int` (Go's int64) is no number to the type check.
* A missing field has become None before the call, and None satisfies only `any`.
* An `expref` argument (`&key`) is a callable: `reference(item) -> Json`, None for a missing field.
* A variadic record is checked for the least number of arguments, not for their types.
* A record without arguments accepts and drops whatever is given.
* With `needs_system` the `System` is the first argument of the code.

The code raises `QueryError` with upstream's text when it cannot answer; a Python `ArithmeticError`,
`LookupError`, `TypeError` or `ValueError` out of it is a bug. A whole number that upstream returns
as a Go int is an `int`, a float64 is a `float`.
"""

from collections.abc import Callable
from typing import NamedTuple

from kyvsim.kubernetes.objects import Json


class FunctionExample(NamedTuple):
    """An expression, the data it is run on, and what comes out; shown in the docs and tested."""

    expression: str
    output: Json
    data: Json = None


class Function(NamedTuple):
    """A JMESPath function; each argument has one type or several."""

    name: str
    arguments: tuple[tuple[str, ...], ...]
    returns: tuple[str, ...]
    note: str
    code: Callable[..., Json]
    variadic: bool = False
    """The last argument may be repeated."""
    needs_system: bool = False
    """The code wants the clock or chance: it gets the `System` before the arguments."""
    examples: tuple[FunctionExample, ...] = ()

    def refusal(self, count: int) -> str:
        """Return why a call with this number of arguments can only fail, or "" where it can work.

        upstream: kyverno/go-jmespath `functions.go`, resolveArgs
        """
        least = len(self.arguments)
        if not least or count == least or (self.variadic and count > least):
            return ""
        expected = f"{least} {'argument' if least == 1 else 'arguments'}"
        return f"function `{self.name}` takes {'at least ' * self.variadic}{expected}, not {count}"

    @property
    def signature(self) -> str:
        """What it takes and returns, as `kyvsim jp function` writes it."""
        shown = ["|".join(types) for types in self.arguments]
        types = f"({', '.join(shown)}) {','.join(self.returns)}"
        return self.name + types.replace("boolean", "bool")


def function(
    signature: str,
    note: str,
    code: Callable[..., Json],
    *examples: tuple[Json, ...],
    variadic: bool = False,
    needs_system: bool = False,
) -> Function:
    """Return the record of a function; the signature is as in `items(object|array, string) array`.

    An example is its expression, what comes out, and the data that it is run on, if any.
    """
    name, _, rest = signature.partition("(")
    arguments, _, returns = rest.partition(") ")
    return Function(
        name=name,
        arguments=tuple(tuple(one.split("|")) for one in arguments.split(", ") if one),
        returns=tuple(returns.split("|")),
        note=note,
        code=code,
        variadic=variadic,
        needs_system=needs_system,
        examples=tuple(FunctionExample(*one) for one in examples),
    )
