"""What the `format` of a text or number says of it, as far as an API server looks.

upstream: k8s.io/kube-openapi pkg/validation/strfmt.
"""

from types import MappingProxyType

from kyvsim.kube.go_time import TimeError, parse_rfc3339
from kyvsim.kube.objects import Json
from kyvsim.kube.quantities import parse_duration

_LARGEST = MappingProxyType({"int32": 1 << 31, "int64": 1 << 63})


def has_format(name: str, data: Json) -> bool:
    """Return whether a text or number is of a format; unknown formats fit everything."""
    if name in _LARGEST and data.__class__ is int:
        return bool(-_LARGEST[name] <= data < _LARGEST[name])
    if data.__class__ is not str:
        return True
    if name == "date-time":
        return _is_time(data)
    # Besides Go's spelling there is a lenient one, in which a number and a letter are enough.
    lenient = any(one.isdigit() for one in data) and any(one.isalpha() for one in data)
    return name != "duration" or lenient or parse_duration(data) is not None


def _is_time(text: str) -> bool:
    try:
        parse_rfc3339(text)
    except TimeError:
        return False
    return True
