"""Errors that are as good as none, without the module of the standard library that says so."""

from kyvsim.light.typed import TYPE_CHECKING

__all__ = ["suppress"]

if TYPE_CHECKING:
    from contextlib import suppress
else:

    class suppress:  # noqa: N801 — its name there
        """A block that ends where one of some errors is raised; what follows it goes on."""

        __slots__ = ("_errors",)

        def __init__(self, *errors: type[BaseException]) -> None:
            self._errors = errors

        def __enter__(self) -> None:
            """Begin the block."""

        def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool:
            return kind is not None and issubclass(kind, self._errors)
