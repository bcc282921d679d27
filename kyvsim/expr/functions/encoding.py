"""Functions that decode and encode texts: base64, JSON, YAML.

upstream: pkg/engine/jmespath/functions.go, over Go's encoding packages.
"""

import base64
import json
import math
import re

from kyvsim.expr.errors import QueryError
from kyvsim.expr.functions.json_problem import json_problem
from kyvsim.expr.functions.record import ANY, STRING, Example, Function
from kyvsim.kube.objects import Json
from kyvsim.kube.yaml_errors import YamlError
from kyvsim.kube.yaml_text import load_one

_ALPHABET = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")
_LONE = re.compile("[\ud800-\udfff]")
_HALF = re.compile(r"\\u[dD][89a-fA-F]")


def base64_encode(text: str) -> str:
    """Return the base64 text of UTF-8 bytes."""
    return base64.b64encode(text.encode("utf-8", "replace")).decode()


def base64_decode(text: str) -> str:
    """Return the text that base64 holds; bytes that are no UTF-8 become U+FFFD, one each."""
    joined = text.replace("\r", "").replace("\n", "")
    if _BASE64.fullmatch(joined) is None:
        raise QueryError(f"illegal base64 data at input byte {_bad_byte(text)}")
    decoded = base64.b64decode(joined).decode("utf-8", "surrogateescape")
    return _LONE.sub("\ufffd", decoded)


def _bad_byte(text: str) -> int:
    """Return where Go's decoder gives up on a text that is no base64."""
    data = text.encode("utf-8", "replace").decode("latin-1")
    kept = [(at, char) for at, char in enumerate(data) if char not in "\r\n"]
    for place, (at, char) in enumerate(kept):
        if char in _ALPHABET:
            continue
        column, rest = place % 4, kept[place + 1 :]
        if char != "=" or column < 2:
            return at
        if column == 2:
            if not rest or rest[0][1] != "=":
                return rest[0][0] if rest else len(data)
            rest = rest[1:]
        return rest[0][0] if rest else at
    return len(data) - len(kept) % 4


def parse_json(text: str) -> Json:
    """Return the data that a JSON text holds; every number is a float."""
    try:
        data = json.loads(text, parse_int=_number, parse_float=_number, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise QueryError(json_problem(error)) from None
    except RecursionError:
        raise QueryError("exceeded max depth") from None
    return _with_characters(data) if _HALF.search(text) else data


def _with_characters(value: Json) -> Json:
    """Replace halves of surrogate pairs: Go has no text that holds one."""
    if value.__class__ is str:
        return _LONE.sub("\ufffd", value)
    if value.__class__ is list:
        return [_with_characters(item) for item in value]
    if value.__class__ is dict:
        return {_with_characters(key): _with_characters(item) for key, item in value.items()}
    return value


def _number(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        problem = f"cannot unmarshal number {text} into Go value of type float64"
        raise QueryError(f"json: {problem}")
    return number


def _no_constant(text: str) -> Json:
    where = "in numeric literal" if text[0] == "-" else "looking for beginning of value"
    raise QueryError(f"invalid character '{text.lstrip('-')[0]}' {where}")


def parse_yaml(text: str) -> Json:
    """Return the data of the first YAML document; every number is a float."""
    try:
        return load_one(text, floats=True)
    except YamlError as error:
        is_json = error.message.startswith("json: ")  # YAML that no JSON can be made of
        raise QueryError(error.message if is_json else f"yaml: {error}") from None


FUNCTIONS = (
    Function(
        "base64_decode",
        (STRING,),
        STRING,
        "the text that a base64 text holds; the alphabet is the standard one, with padding",
        base64_decode,
        examples=(Example("base64_decode('aGk=')", "hi"),),
    ),
    Function(
        "base64_encode",
        (STRING,),
        STRING,
        "the base64 form of a text",
        base64_encode,
        examples=(Example("base64_encode('hi')", "aGk="),),
    ),
    Function(
        "parse_json",
        (STRING,),
        ANY,
        "the value that a JSON text holds",
        parse_json,
        examples=(Example("""parse_json('{"a": [1]}')""", {"a": [1.0]}),),
    ),
    Function(
        "parse_yaml",
        (STRING,),
        ANY,
        "the value that the first document of a YAML text holds",
        parse_yaml,
        examples=(Example("parse_yaml('a: yes')", {"a": True}),),
    ),
)
