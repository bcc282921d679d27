"""Functions that decode and encode texts: base64, JSON, YAML.

upstream: pkg/engine/jmespath/functions.go, over Go's encoding packages.
"""

import base64
import re

from kyvsim.expr.errors import QueryError
from kyvsim.expr.functions.record import ANY, STRING, Example, Function
from kyvsim.go import json as go_json
from kyvsim.go.base64 import Base64Error, decode_padded
from kyvsim.go.json import JsonError
from kyvsim.kube.objects import Json
from kyvsim.kube.yaml_document import YamlError
from kyvsim.kube.yaml_text import load_one


def base64_encode(text: str) -> str:
    """Return the base64 text of UTF-8 bytes."""
    return base64.b64encode(text.encode("utf-8", "replace")).decode()


_LONE = re.compile("[\ud800-\udfff]")


def base64_decode(text: str) -> str:
    """Return the text that base64 holds; bytes that are no UTF-8 become U+FFFD, one each."""
    try:
        data = decode_padded(text)
    except Base64Error as error:
        raise QueryError(str(error)) from None
    decoded = data.decode("utf-8", "surrogateescape")
    return _LONE.sub("\ufffd", decoded)


def parse_json(text: str) -> Json:
    """Return the data that a JSON text holds; every number is a float."""
    try:
        return go_json.parse_json(text)
    except JsonError as error:
        raise QueryError(str(error)) from None


def parse_yaml(text: str) -> Json:
    """Return the data of the first YAML document; every number is a float."""
    try:
        return load_one(text, floats=True)
    except YamlError as error:
        raise QueryError(error.go_text) from None


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
