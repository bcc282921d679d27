"""Enumerations as `enum` has them, whose declaration costs little.

The standard library makes each member by a descriptor that looks through the class's bases: eight
times the work of all else that declares a class, and a start declares a dozen. Here a member is an
object of its class that knows its name and value. What those of the package need is all there is.
"""

from kyvsim.light.typed import TYPE_CHECKING, Any

__all__ = ["Enum", "StrEnum"]

if TYPE_CHECKING:
    from enum import Enum, StrEnum
else:

    class _Declaration(type):
        """Makes a class whose values become its members."""

        def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> type:
            values = {one: value for one, value in body.items() if _is_member(one, value)}
            kept = {one: value for one, value in body.items() if one not in values}
            made = type.__new__(cls, name, bases, kept)
            members: dict[Any, Any] = {}
            for one, value in values.items():
                if value not in members:
                    members[value] = _member(made, one, value)
                type.__setattr__(made, one, members[value])
            type.__setattr__(made, "_by_value", members)
            named = {one: members[value] for one, value in values.items()}
            type.__setattr__(made, "__members__", named)
            return made

        def __call__(cls, value: Any) -> Any:
            """Return the member of a value, or the member that is given; raises ValueError."""
            try:
                return cls._by_value[value]
            except (KeyError, TypeError):
                if isinstance(value, cls):
                    return value
                raise ValueError(f"{value!r} is not a valid {cls.__qualname__}") from None

        def __getitem__(cls, name: str) -> Any:
            return cls.__members__[name]

        def __contains__(cls, value: object) -> bool:
            return isinstance(value, cls) or value in cls._by_value

        def __iter__(cls) -> Any:
            return iter(cls._by_value.values())

        def __len__(cls) -> int:
            return len(cls._by_value)

        def __setattr__(cls, name: str, value: object) -> None:
            if name in cls.__dict__.get("__members__", ()):
                raise AttributeError(f"cannot reassign member {name!r}")
            type.__setattr__(cls, name, value)

    def _is_member(name: str, value: object) -> bool:
        return not (name.startswith("_") or hasattr(value, "__get__"))

    def _member(cls: type, name: str, value: Any) -> Any:
        is_text = issubclass(cls, str)
        made = str.__new__(cls, value) if is_text else object.__new__(cls)
        made.name = made._name_ = name
        made.value = made._value_ = value
        if "__init__" in cls.__dict__:
            made.__init__(*value) if isinstance(value, tuple) else made.__init__(value)
        return made

    class Enum(metaclass=_Declaration):
        """Has a few members, each with a name and a value, told apart by which they are."""

        def __repr__(self) -> str:
            return f"<{self.__class__.__name__}.{self.name}: {self.value!r}>"

        def __str__(self) -> str:
            return f"{self.__class__.__name__}.{self.name}"

        def __hash__(self) -> int:
            return hash(self.name)

        def __reduce_ex__(self, _: object) -> tuple[Any, ...]:
            return self.__class__, (self.value,)

        def __copy__(self) -> "Enum":
            return self

        def __deepcopy__(self, _: object) -> "Enum":
            return self

    class StrEnum(str, Enum):  # noqa: SLOT000 — members have attributes
        """Has members that are texts."""

        __repr__ = Enum.__repr__
        __str__ = str.__str__
        __format__ = str.__format__
