"""Truth and type names as upstream's evaluator has them.

upstream: kyverno/go-jmespath `util.go` and `functions.go`.
"""

from collections.abc import Callable
from typing import Final

from kyvsim.kube.objects import Json


class Missing:
    """The outcome of asking a map for a key it lacks; travels up until something swallows it."""

    __slots__ = ("key",)

    def __init__(self, key: str) -> None:
        self.key = key

    def __bool__(self) -> bool:
        return False


NUMERIC: Final = frozenset({int, float})
"""Classes whose zero is true: upstream's truth is `value or value.__class__ in NUMERIC`."""


def _is_numbers(value: Json) -> bool:
    return value.__class__ is list and all(item.__class__ is float for item in value)


def _is_strings(value: Json) -> bool:
    return value.__class__ is list and all(item.__class__ is str for item in value)


def _type_checks() -> tuple[tuple[str, Callable[[Json], bool]], ...]:
    return (
        ("number", lambda value: value.__class__ is float),
        ("string", lambda value: value.__class__ is str),
        ("array", lambda value: value.__class__ is list),
        ("object", lambda value: value.__class__ is dict),
        ("array[number]", _is_numbers),
        ("array[string]", _is_strings),
        ("expref", callable),
    )


def type_check(types: tuple[str, ...]) -> Callable[[Json], bool] | None:
    """Return the test of an argument against a record's types; None where all are welcome."""
    if "any" in types:
        return None
    checks = tuple(check for name, check in _type_checks() if name in types)
    if len(checks) == 1:
        return checks[0]
    return lambda value: any(check(value) for check in checks)
