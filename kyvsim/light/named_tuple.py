"""Named tuples as `typing.NamedTuple` has them, whose declaration compiles nothing.

That of the standard library writes a constructor as source for each class and has it compiled:
ten times the work of all else that declares the class, hundreds of times before a command starts.
Here one constructor is compiled for each number of fields, and classes take it with the names of
theirs. Instances are made, read and compared at the same speed.
"""

import sys

from kyvsim.light.typed import TYPE_CHECKING, Any

__all__ = ["NamedTuple"]

if TYPE_CHECKING or sys.version_info >= (3, 14):  # whose classes keep their annotations elsewhere
    from typing import NamedTuple
else:
    from collections import _tuplegetter
    from collections.abc import Iterable
    from functools import lru_cache
    from types import CodeType, FunctionType

    _new = tuple.__new__

    class _Fields(tuple):
        """What all named tuples can do."""

        __slots__ = ()

        @classmethod
        def _make(cls, values: Iterable[Any]) -> Any:
            """Return an instance with the values of an iterable."""
            made = _new(cls, values)
            if len(made) != len(cls._fields):
                raise TypeError(f"{len(cls._fields)} values wanted, not {len(made)}")
            return made

        def _replace(self, /, **changes: Any) -> Any:
            """Return an instance with other values in some fields."""
            made = _new(self.__class__, map(changes.pop, self._fields, self))
            if changes:
                raise ValueError(f"no such fields: {list(changes)}")
            return made

        def _asdict(self) -> dict[str, Any]:
            """Return the values by the names of their fields."""
            return dict(zip(self._fields, self, strict=True))

        def __repr__(self) -> str:
            values = ", ".join(f"{name}={value!r}" for name, value in self._asdict().items())
            return f"{self.__class__.__name__}({values})"

        def __getnewargs__(self) -> tuple[Any, ...]:
            return tuple(self)

    class _Declaration(type):
        """Makes a plain class of a name and a body with annotations."""

        def __new__(cls, name: str, bases: tuple[Any, ...], body: dict[str, Any]) -> type:
            del bases
            fields = tuple(body.get("__annotations__", ()))
            defaults = {}
            for index, field in enumerate(fields):
                if field in body:
                    defaults[field] = body[field]
                elif defaults:
                    raise TypeError(f"{name}: a field without a default follows one with a default")
                body[field] = _tuplegetter(index, "")
            body["__slots__"] = ()
            body["__match_args__"] = body["_fields"] = fields
            body["_field_defaults"] = defaults
            body["__new__"] = _constructor(f"{name}.__new__", fields, tuple(defaults.values()))
            return type.__new__(type, name, (_Fields,), body)

    def _constructor(name: str, fields: tuple[str, ...], defaults: tuple[Any, ...]) -> FunctionType:
        names = {"co_name": "__new__", "co_qualname": name, "co_varnames": ("_cls", *fields)}
        return FunctionType(_code(len(fields)).replace(**names), _NAMES, "__new__", defaults)

    @lru_cache(maxsize=64)
    def _code(count: int) -> CodeType:
        """Return what makes a tuple of so many arguments."""
        if count < len(_SMALL):
            return _SMALL[count].__code__
        names = "".join(f"_{index}," for index in range(count))
        made = f"lambda _cls, {names}: _new(_cls, ({names}))"
        return eval(made, {}).__code__  # noqa: S307 — a number is all that is put into it

    # Nearly all are written out: compiling a constructor takes longer than declaring its class.
    # fmt: off
    _SMALL = (
        lambda _cls: _new(_cls, ()),
        lambda _cls, a: _new(_cls, (a,)),
        lambda _cls, a, b: _new(_cls, (a, b)),
        lambda _cls, a, b, c: _new(_cls, (a, b, c)),
        lambda _cls, a, b, c, d: _new(_cls, (a, b, c, d)),
        lambda _cls, a, b, c, d, e: _new(_cls, (a, b, c, d, e)),
        lambda _cls, a, b, c, d, e, f: _new(_cls, (a, b, c, d, e, f)),
        lambda _cls, a, b, c, d, e, f, g: _new(_cls, (a, b, c, d, e, f, g)),
        lambda _cls, a, b, c, d, e, f, g, h: _new(_cls, (a, b, c, d, e, f, g, h)),
        lambda _cls, a, b, c, d, e, f, g, h, i: _new(_cls, (a, b, c, d, e, f, g, h, i)),
        lambda _cls, a, b, c, d, e, f, g, h, i, j: _new(_cls, (a, b, c, d, e, f, g, h, i, j)),
        lambda _cls, a, b, c, d, e, f, g, h, i, j, k:
            _new(_cls, (a, b, c, d, e, f, g, h, i, j, k)),
        lambda _cls, a, b, c, d, e, f, g, h, i, j, k, m:
            _new(_cls, (a, b, c, d, e, f, g, h, i, j, k, m)),
        lambda _cls, a, b, c, d, e, f, g, h, i, j, k, m, n:
            _new(_cls, (a, b, c, d, e, f, g, h, i, j, k, m, n)),
        lambda _cls, a, b, c, d, e, f, g, h, i, j, k, m, n, o:
            _new(_cls, (a, b, c, d, e, f, g, h, i, j, k, m, n, o)),
        lambda _cls, a, b, c, d, e, f, g, h, i, j, k, m, n, o, p:
            _new(_cls, (a, b, c, d, e, f, g, h, i, j, k, m, n, o, p)),
        lambda _cls, a, b, c, d, e, f, g, h, i, j, k, m, n, o, p, q:
            _new(_cls, (a, b, c, d, e, f, g, h, i, j, k, m, n, o, p, q)),
        lambda _cls, a, b, c, d, e, f, g, h, i, j, k, m, n, o, p, q, r:
            _new(_cls, (a, b, c, d, e, f, g, h, i, j, k, m, n, o, p, q, r)),
        lambda _cls, a, b, c, d, e, f, g, h, i, j, k, m, n, o, p, q, r, s:
            _new(_cls, (a, b, c, d, e, f, g, h, i, j, k, m, n, o, p, q, r, s)),
        lambda _cls, a, b, c, d, e, f, g, h, i, j, k, m, n, o, p, q, r, s, t:
            _new(_cls, (a, b, c, d, e, f, g, h, i, j, k, m, n, o, p, q, r, s, t)),
        lambda _cls, a, b, c, d, e, f, g, h, i, j, k, m, n, o, p, q, r, s, t, u:
            _new(_cls, (a, b, c, d, e, f, g, h, i, j, k, m, n, o, p, q, r, s, t, u)),
        lambda _cls, a, b, c, d, e, f, g, h, i, j, k, m, n, o, p, q, r, s, t, u, v:
            _new(_cls, (a, b, c, d, e, f, g, h, i, j, k, m, n, o, p, q, r, s, t, u, v)),
        lambda _cls, a, b, c, d, e, f, g, h, i, j, k, m, n, o, p, q, r, s, t, u, v, w:
            _new(_cls, (a, b, c, d, e, f, g, h, i, j, k, m, n, o, p, q, r, s, t, u, v, w)),
        lambda _cls, a, b, c, d, e, f, g, h, i, j, k, m, n, o, p, q, r, s, t, u, v, w, x:
            _new(_cls, (a, b, c, d, e, f, g, h, i, j, k, m, n, o, p, q, r, s, t, u, v, w, x)),
        lambda _cls, a, b, c, d, e, f, g, h, i, j, k, m, n, o, p, q, r, s, t, u, v, w, x, y:
            _new(_cls, (a, b, c, d, e, f, g, h, i, j, k, m, n, o, p, q, r, s, t, u, v, w, x, y)),
    )
    # fmt: on
    _NAMES = {"__builtins__": {}, "__name__": __name__, "_new": _new}
    NamedTuple = type.__new__(_Declaration, "NamedTuple", (), {})
