"""Functions on plain values: hashes, rounding, time, random strings, lists to maps, users."""

import hashlib
import math
from collections.abc import Callable, Mapping
from typing import Any

from kyvsim.cel.environment import Library, function, read_fields
from kyvsim.cel.errors import CelError
from kyvsim.cel.libraries.math import round_half_away
from kyvsim.cel.types import STRING, struct
from kyvsim.cel.values import Duration, MadeList, Timestamp, UInt, go_type
from kyvsim.kubernetes.go_random_text import Chance, make_random
from kyvsim.kubernetes.go_time import Time
from kyvsim.kubernetes.regexes import RegexError
from kyvsim.model.ports import Clock, Entropy, Meter

# Hashes of strings, in hexadecimal.
#
# Source of the rules: upstream kyverno/sdk extensions/cel/libs/hash, whose library also declares
# the constant `mylib_version`.


def _digest(algorithm: Callable[..., Any]) -> Callable[[str], str]:
    return lambda text: str(
        algorithm(text.encode("utf-8", "replace"), usedforsecurity=False).hexdigest()
    )


HASHES = Library(
    "hash",
    tuple(
        function(f"{prefix}{algorithm}(string) -> string", _digest(run))
        for algorithm, run in (
            ("sha1", hashlib.sha1),
            ("sha256", hashlib.sha256),
            ("md5", hashlib.md5),
        )
        for prefix in ("", "hash.")
    ),
    variables=(("mylib_version", STRING),),
)

# `math.round` to a number of decimals.
#
# Source of the rules: upstream kyverno/sdk extensions/cel/libs/math. It multiplies by a power of
# ten, so `math.round(1.255, 2)` is 1.25.


def _round(number: float, digits: int) -> float:
    try:
        shift = math.pow(10, digits)
    except OverflowError:
        shift = math.inf
    whole = round_half_away(number * shift)
    if shift:
        return whole / shift
    return math.copysign(math.inf, whole) if whole else math.nan


ROUNDING = Library("rounding", (function("math.round(double, int) -> double", _round),))

# The current time, times truncated to a multiple of a duration, and times as cron schedules.
#
# Source of the rules: upstream kyverno/sdk extensions/cel/libs/time.


def time_library(clock: Clock) -> Library:
    """Return the functions that read `clock`."""

    def now() -> Timestamp:
        moment = clock.now()
        whole = int(moment.replace(microsecond=0).timestamp())
        return Timestamp(whole * 1_000_000_000 + moment.microsecond * 1_000)

    return Library(
        "time",
        (
            function("time.now() -> timestamp", now),
            function("time.toCron(timestamp) -> string", _to_cron),
            function("time.truncate(timestamp, duration) -> timestamp", _truncate),
        ),
    )


def _to_cron(value: Timestamp) -> str:
    """Return minute, hour, day, month and weekday of a time, in its own zone."""
    _, month, day, second, weekday = Time(*value).civil()
    return f"{second // 60 % 60} {second // 3600} {day} {month} {weekday}"


def _truncate(value: Timestamp, step: Duration) -> Timestamp:
    """Return the time truncated to a multiple of `step` since the year 1; unchanged for no step."""
    if step.nanoseconds <= 0:
        return value
    return value._replace(nanoseconds=Time(*value).truncate(step.nanoseconds).nanoseconds)


# Random strings.
#
# Source of the rules: upstream kyverno/sdk extensions/cel/libs/random; the default is eight
# digits and lower-case letters.


def random_library(entropy: Entropy) -> Library:
    """Return the functions that use `entropy`."""

    def random(pattern: str = "[0-9a-z]{8}") -> str:
        try:
            return make_random(pattern, Chance(entropy.below, Meter().spend))
        except RegexError as error:
            raise CelError(str(error)) from None

    return Library(
        "random",
        tuple(
            function(f"{name}({given}) -> string", random)
            for name in ("random", "random.random")
            for given in ("string", "")
        ),
    )


# Two lists of objects as one map: keys from the first, values from the second.
#
# Source of the rules: upstream kyverno/sdk extensions/cel/libs/transform.

_NATIVE_TYPES: Mapping[type, str] = {
    str: "string",
    int: "int64",
    UInt: "uint64",
    float: "float64",
    bool: "bool",
    bytes: "[]uint8",
    MadeList: "[]interface {}",
    type(None): "structpb.NullValue",
    Duration: "time.Duration",
    Timestamp: "time.Time",
}


def _list_to_map(
    keys: list[object], values: list[object], key_field: str, value_field: str
) -> dict[str, object]:
    if len(keys) != len(values):
        raise CelError(
            "listObjToMap must take lists of equal length. "
            f"list1: {len(keys)}, list2: {len(values)}"
        )
    made: dict[str, object] = {}
    for key_object, value_object in zip(keys, values, strict=True):
        key = _fields(key_object).get(key_field)
        if key.__class__ is not str:
            problem = "the passed key name cannot be handled as a string in the key object list"
            raise CelError(problem)
        if isinstance(value_object, dict) and any(key.__class__ is not str for key in value_object):
            problem = "object cannot be handled as a map string to any in the value object list"
            raise CelError(problem)
        made[key] = _fields(value_object).get(value_field)
    return made


def _fields(value: object) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise CelError(
            f"internal error: interface conversion: interface {{}} is {_native_type(value)}, not "
            "map[interface {}]interface {}"
        )
    for key in value:
        if key.__class__ is not str:
            raise CelError(f"failed to convert key to a string, {_native_type(key)}")
    return value


def _native_type(value: object) -> str:
    return _NATIVE_TYPES.get(value.__class__) or go_type(value)


TRANSFORM = Library(
    "transform",
    tuple(
        function(f"{name}(list<dyn>, list<dyn>, string, string) -> map<dyn, dyn>", _list_to_map)
        for name in ("listObjToMap", "transform.listObjToMap")
    ),
)

# Parsing of service account names.
#
# Source of the rules: upstream kyverno/sdk extensions/cel/libs/user.

_PREFIX = "system:serviceaccount:"
SERVICE_ACCOUNT = "user.ServiceAccount"
SERVICE_ACCOUNT_FIELDS = read_fields("Name=string Namespace=string")


class ServiceAccount(dict[str, str]):
    """Name and namespace in expressions, empty for other users than service accounts."""

    cel_type = struct(SERVICE_ACCOUNT)

    def as_json(self) -> dict[str, str]:
        """Return the fields by their names in JSON, without empty ones."""
        return {name.lower(): value for name, value in self.items() if value}


def _parse(user: str) -> ServiceAccount:
    namespace, colon, name = user.removeprefix(_PREFIX).partition(":")
    if not colon or not user.startswith(_PREFIX):
        namespace = name = ""
    return ServiceAccount(Name=name, Namespace=namespace)


USERS = Library(
    "users",
    tuple(
        function(f"{name}(string) -> {SERVICE_ACCOUNT}", _parse)
        for name in ("parseServiceAccount", "user.parseServiceAccount")
    ),
    types=((ServiceAccount, ServiceAccount.cel_type),),
)
