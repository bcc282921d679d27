"""Types that read their JSON themselves: quantities, times, numbers that may be names.

upstream: k8s.io/apimachinery pkg/api/resource, pkg/apis/meta/v1, pkg/util/intstr.
"""

from functools import lru_cache

from kyvsim.kubernetes.go_text import to_json
from kyvsim.kubernetes.go_time import TimeError, parse_rfc3339, parse_time
from kyvsim.kubernetes.objects import Json
from kyvsim.kubernetes.quantities import parse_quantity, quantity_problem

_INT32 = range(-(2**31), 2**31)
_MICRO = "2006-01-02T15:04:05.000000Z07:00"


class OwnReaderError(Exception):
    """A value is not of a type; `type` stands in Go's usual message where there is no other."""

    def __init__(self, *, message: str = "", wanted: str = "") -> None:
        super().__init__(message or wanted)
        self.message = message
        self.type = wanted


def read_itself(value: Json, name: str) -> None:
    """Check a value that is not null against a type; raises OwnReaderError where it misfits."""
    if name == "resource.Quantity":
        _quantity(value)
    elif name == "intstr.IntOrString":
        is_number = value.__class__ in {int, float} and is_whole(value, _INT32)
        if value.__class__ is not str and not is_number:
            raise OwnReaderError(wanted="int32")
    elif name == "[]byte":
        if value.__class__ is not str:
            raise OwnReaderError(wanted="[]uint8")
    elif name in {"v1.Time", "v1.MicroTime"}:
        _time(value, name)


def is_whole(number: float, span: range) -> bool:
    """Return whether a number is whole and lies in a span (`in` would try every number of it)."""
    return span.start <= number < span.stop and number % 1 == 0


def _time(value: Json, name: str) -> None:
    if value.__class__ is not str:
        raise OwnReaderError(wanted="string")
    problem = _time_problem(value, name)
    if problem:
        raise OwnReaderError(message=problem)


@lru_cache(maxsize=1024)
def _time_problem(text: str, name: str) -> str:
    """Return what is wrong with a time, "" for nothing; much happens at the same moment."""
    try:
        parse_time(_MICRO, text) if name == "v1.MicroTime" else parse_rfc3339(text)
    except TimeError as error:
        return str(error)
    return ""


def _quantity(value: Json) -> None:
    """Check a quantity; other values than texts are read as they stand in JSON."""
    text = (value if value.__class__ is str else to_json(value)).strip()
    if parse_quantity(text) is None:
        raise OwnReaderError(message=quantity_problem(text))
