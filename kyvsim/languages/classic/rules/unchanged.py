"""Why a strategic merge patch leaves an object as it is, for explanations."""

from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

from kyvsim.kubernetes.objects import Json, Path
from kyvsim.policy.anchors import ADDITION, CONDITION, GLOBAL, parse_anchor

_Fits: TypeAlias = Callable[[Json, Json], bool]
"""Returns whether the value of a condition matches a value of an object."""
_TESTS = frozenset({CONDITION, GLOBAL})


class UnchangedReason(NamedTuple):
    """Why a patch does not change an object."""

    text: str
    path: Path = ()
    """The path in the patch."""


class _Field(NamedTuple):
    """A key of a patch, and the value of the object at the same place."""

    path: Path
    sign: str | None
    """The sign of its anchor, None without one."""
    key: str
    wanted: Json
    found: Json

    @property
    def shown(self) -> str:
        steps = (parse_anchor(str(one)) or one for one in self.path)
        names = (f"{one}" if isinstance(one, int | str) else one.key for one in steps)
        return ".".join("[]" if name.isdigit() else name for name in names).replace(".[]", "[]")


def unchanged_reason(patch: Json, obj: Json, fits: _Fits) -> UnchangedReason:
    """Return why merging a patch, whose variables are replaced, does not change an object."""
    whole = UnchangedReason("the object has all values of the patch already")
    return next(_unmet(patch, obj, (), fits), None) or next(_kept(patch, obj, ()), whole)


def _fields(patch: Json, obj: Json, at: Path) -> Iterator[_Field]:
    for text, wanted in patch.items() if isinstance(patch, dict) else ():
        anchor = parse_anchor(text)
        key = anchor.key if anchor else text
        found = obj.get(key) if isinstance(obj, dict) else None
        yield _Field((*at, text), anchor.sign if anchor else None, key, wanted, found)


def _unmet(patch: Json, obj: Json, at: Path, fits: _Fits) -> Iterator[UnchangedReason]:
    """Yield the conditions that the object does not meet."""
    for one in _fields(patch, obj, at):
        if one.sign not in _TESTS:
            yield from _unmet(one.wanted, one.found, one.path, fits)
        elif one.found is None:
            yield UnchangedReason(f"the object has no `{one.shown}`", one.path)
        elif not isinstance(one.wanted, dict | list) and not fits(one.wanted, one.found):
            text = f"`{one.shown}` is `{one.found}`, which does not match `{one.wanted}`"
            yield UnchangedReason(text, one.path)
    for index, item in enumerate(patch if isinstance(patch, list) else ()):
        elements = obj if isinstance(obj, list) else []
        reasons = [next(_unmet(item, one, (*at, index), fits), None) for one in elements]
        if reasons and reasons[0] and all(reasons):
            more = f" (the first of {len(reasons)} elements)" if len(reasons) > 1 else ""
            yield reasons[0]._replace(text=f"{reasons[0].text}{more}")


def _kept(patch: Json, obj: Json, at: Path) -> Iterator[UnchangedReason]:
    """Yield the fields that are only added if they are missing."""
    for one in _fields(patch, obj, at):
        if one.sign == ADDITION and one.found is not None:
            yield UnchangedReason(
                f"`+( )` only adds a missing field, and the object has `{one.shown}`: write "
                f"`{one.key}` to replace its value",
                one.path,
            )
        elif one.sign is None:
            yield from _kept(one.wanted, one.found, one.path)
    for index, item in enumerate(patch if isinstance(patch, list) else ()):
        for element in obj if isinstance(obj, list) else ():
            yield from _kept(item, element, (*at, index))
