"""The words of types, as `typing` has them, of which most mean nothing while a program runs.

Loading `typing` takes half as long as the interpreter's start, and each command would load it. To
a type checker these words are its own. At run time they stand in annotations, in aliases and as
bases of classes, and do no more than is asked of them there.
"""

TYPE_CHECKING = False
"""Whether a type checker reads this: it takes the name for true."""

__all__ = [
    "IO",
    "TYPE_CHECKING",
    "Any",
    "ClassVar",
    "Concatenate",
    "Final",
    "Generic",
    "NoReturn",
    "ParamSpec",
    "Protocol",
    "Self",
    "TypeAlias",
    "TypeVar",
    "Union",
    "cast",
]

if TYPE_CHECKING:
    from typing import (
        IO,
        Any,
        ClassVar,
        Concatenate,
        Final,
        Generic,
        NoReturn,
        ParamSpec,
        Protocol,
        Self,
        TypeAlias,
        TypeVar,
        Union,
        cast,
    )
else:

    class Any:
        """A type of which nothing is said: what is made of it with others says no more."""

        __slots__ = ()

        def __class_getitem__(cls, _: object) -> type:
            return cls

    class Protocol(Any):
        """What classes have without standing on it; as a base it adds nothing."""

        __slots__ = ()

    Generic = Protocol
    ClassVar = Final = IO = NoReturn = Self = TypeAlias = Union = Any

    class TypeVar:
        """A type that is not known yet."""

        __slots__ = ("__name__",)

        def __init__(self, name: str, **_: object) -> None:
            self.__name__ = name

        def __or__(self, other: object) -> type:
            return Any

        __ror__ = __or__

        def __typing_subst__(self, found: object) -> object:
            """Return what stands for it where an alias is given its types."""
            return found

    class ParamSpec(list):
        """Parameters of which nothing is known: what `Callable` takes in their place is a list."""

        args = kwargs = Any

        def __init__(self, _: str) -> None:
            super().__init__()

    class Concatenate:
        """Parameters of which some are known."""

        __slots__ = ()

        def __class_getitem__(cls, _: object) -> list:
            return []

    def cast(_: object, value: object) -> object:
        """Return the value, which a type checker takes to be of that type."""
        return value
