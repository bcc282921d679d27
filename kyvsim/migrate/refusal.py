"""What cannot be said in CEL."""

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from kyvsim.kube.objects import Json, text_field
from kyvsim.model.source import Path

_Given = ParamSpec("_Given")
_Found = TypeVar("_Found")


class NotConvertible(Exception):  # noqa: N818 — it is no fault: it says what a policy asks for
    """Something has no twin: what it is, what to do about it, and where it stands below."""

    def __init__(self, what: str, advice: str, path: Path = ()) -> None:
        """Take what has no twin, what to do, and the way to it from where it was met."""
        super().__init__(what)
        self.what = what
        self.advice = advice
        self.path = path

    def below(self, *steps: str | int) -> "NotConvertible":
        """Return the same as it is seen from further up."""
        return NotConvertible(self.what, self.advice, (*steps, *self.path))


def within(
    steps: Path, convert: Callable[_Given, _Found], *given: _Given.args, **named: _Given.kwargs
) -> _Found:
    """Return what a conversion gives; what it refuses stands below some steps."""
    try:
        return convert(*given, **named)
    except NotConvertible as refusal:
        raise refusal.below(*steps) from None


def list_of(block: Json) -> str:
    """Return the list of a loop; raises NotConvertible where there is none."""
    text = text_field(block, "list")
    if not text:
        raise NotConvertible("a loop without a list", "name the list in `list`")
    return text
