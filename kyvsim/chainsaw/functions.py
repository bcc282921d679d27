"""The JMESPath functions that chainsaw adds to Kyverno's; `FUNCTIONS` has them by name.

Source of the list: chainsaw's documentation, "Functions"; kyverno-json's.
"""

from collections.abc import Mapping
from types import MappingProxyType

from kyvsim.expr import QueryError
from kyvsim.expr.functions.encoding import parse_json
from kyvsim.expr.functions.record import ANY, ARRAY, NUMBER, STRING, Function
from kyvsim.kube.objects import Json
from kyvsim.kube.wildcard import matches

NEEDING_A_CLUSTER = (
    "env",
    "k8s_get",
    "k8s_list",
    "k8s_exists",
    "k8s_resource_exists",
    "k8s_server_version",
    "metrics_decode",
)
"""Functions of chainsaw's that ask the world outside."""


def floated(value: Json) -> Json:
    """Return a value with every whole number as a float, which is what expressions count with."""
    kind = value.__class__
    if kind is dict:
        return {key: floated(member) for key, member in value.items()}
    if kind is list:
        return [floated(member) for member in value]
    return float(value) if kind is int else value


def _trim_space(text: str) -> str:
    return text.strip()


def _as_string(value: Json) -> Json:
    return value if value.__class__ is str else None


def _at(items: list[Json], place: float) -> Json:
    if not 0 <= place < len(items):
        raise QueryError(f"index {int(place)} is outside of the list")
    return items[int(place)]


def _concat(first: str, second: str) -> str:
    return first + second


def _json_parse(text: str) -> Json:
    return floated(parse_json(text))


def _wildcard(pattern: str, text: str) -> bool:
    return matches(pattern, text)


FUNCTIONS: Mapping[str, Function] = MappingProxyType(
    {
        one.name: one
        for one in (
            Function("as_string", (ANY,), STRING, "A text, or null of all else.", _as_string),
            Function("at", (ARRAY, NUMBER), ANY, "An item of a list by its place.", _at),
            Function("concat", (STRING, STRING), STRING, "Two texts as one.", _concat),
            Function("json_parse", (STRING,), ANY, "What a JSON text says.", _json_parse),
            Function("trim_space", (STRING,), STRING, "A text without blanks around.", _trim_space),
            Function("wildcard", (STRING, STRING), ("boolean",), "Whether a text fits.", _wildcard),
        )
    }
)
