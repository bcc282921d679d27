"""The functions of each of Kyverno's libraries, one table each."""

import random
from datetime import UTC, datetime
from unittest.mock import Mock

import pytest

from kyvsim.cel import CelBudgetError, CelError, CompileError, compile_expression
from kyvsim.cel.kyverno.encodings import JsonCodec, YamlCodec
from kyvsim.cel.kyverno.environments import kyverno_environment, ordered
from kyvsim.cel.kyverno.images import ImageDataAccess
from kyvsim.cel.kyverno.lookups import GlobalContextAccess, HttpAccess, ResourceAccess
from kyvsim.model.release import V_1_19_0, V_1_19_1

CLOCK = Mock(now=lambda: datetime(2026, 2, 3, 4, 5, 6, 7, tzinfo=UTC))
ENTROPY = Mock(below=random.Random(0).randrange)
ENVIRONMENT = kyverno_environment("ValidatingPolicy", CLOCK, ENTROPY, release=V_1_19_0)
NEWER = kyverno_environment("ValidatingPolicy", CLOCK, ENTROPY, release=V_1_19_1)
OBJECTS = {("v1", "configmaps", "far", "one"): {"data": {"a": "1"}}}
HEX = "a" * 64


def _listed(_, resource, __, labels):
    if resource == "secrets":
        raise LookupError("secrets resource not found")
    return [labels] if labels else []


def _global(name, projection):
    if projection == "bad":
        raise LookupError("projection bad")
    return {"x": 1} if name == "known" else None


def _answer(method, url):
    if "down" in url:
        raise LookupError("down")
    return {"method": method, "url": url}


VALUES = {
    "object": {"spec": {"replicas": 3.0, "nil": None}},
    "json": JsonCodec(),
    "yaml": YamlCodec(),
    "resource": ResourceAccess(lambda *key: OBJECTS.get(key), _listed),
    "image": ImageDataAccess({"nginx:1": {"tag": "1"}}.get),
    "http": HttpAccess(_answer),
    "globalContext": GlobalContextAccess(_global),
}

TABLES = {
    "hash": [
        ("sha1('a')", "86f7e437faa5a7fce15d1ddcb9eaeaea377667b8"),
        ("hash.md5('abc') == md5('abc')", True),
        ("hash.sha1('abc') == sha1('abc')", True),
        ("hash.sha256('abc') == sha256('abc')", True),
        ("sha256('abc').size()", 64),
        ("sha1(1)", "refused: found no matching overload for 'sha1' applied to '(int)'"),
    ],
    "rounding": [
        ("math.round(1.255, 2)", 1.25),
        ("math.round(1234.5, -2)", 1200.0),
        ("math.round(-2.5)", -3.0),
    ],
    "json": [
        ("json.marshal(lists.range(2000)).size() > 2000", True),
        ("json.marshal({'b': 1.5, 'a': 2.0})", '{"a":2,"b":1.5}'),
        ("json.marshal(['<'])", '["\\u003c"]'),
        ("json.marshal(object.spec.nil)", "0"),
        ("json.marshal([dyn(b'a'), dyn(duration('1s'))])", '["YQ==",1000000000]'),
        ("json.marshal(0.0 / 0.0)", "error: json: unsupported value: NaN"),
        ("json.marshal({true: 1})", "error: type conversion error from bool to 'string'"),
        ("json.marshal(ip('::1'))", '"::1"'),
        ("json.unmarshal('{\"a\": [1]}')", {"a": [1.0]}),
        ("json.marshal([null])", "[0]"),
        ("json.marshal({'a': optional.of(null)})", '{"a":0}'),
        ("json.marshal(object.spec)", '{"nil":null,"replicas":3}'),
        ("json.marshal(optional.of([object.spec]))", '[{"Adapter":{}}]'),
        ("json.marshal([null] + [null])", "[0,0]"),
        ("json.marshal([object.spec] + [object.spec]).size()", 53),
        (
            "json.marshal([object.spec])",
            "error: json: unsupported type: map[interface {}]interface {}",
        ),
        (
            "json.marshal({'a': {'b': 1}})",
            "error: json: unsupported type: map[interface {}]interface {}",
        ),
        (
            "json.marshal([1].map(x, {'b': x}))",
            "error: json: unsupported type: map[interface {}]interface {}",
        ),
        (
            "json.marshal(optional.of({'a': 1}))",
            "error: json: unsupported type: map[ref.Val]ref.Val",
        ),
        ("json.marshal([optional.none()])", "error: optional.none() dereference"),
        ("json.marshal({null: 1})", "error: type conversion error from 'null_type' to 'string'"),
        ("json.marshal({[1]: 1})", "error: type conversion error from list to 'string'"),
        (
            "json.marshal(format.dns1123Label())",
            "error: json: unsupported type: func(string) []string",
        ),
        (
            "json.marshal([format.dns1123Label()])",
            "error: type conversion error from 'Format' to 'interface {}'",
        ),
        (
            "json.marshal(url('http://u:p@h/%41?a=1'))",
            (
                '{"Scheme":"http","Opaque":"","User":{},"Host":"h","Path":"/A","Fragment":"",'
                '"RawQuery":"a=1","RawPath":"/%41","RawFragment":"","ForceQuery":false,'
                '"OmitHost":false}'
            ),
        ),
        ("json.unmarshal('')", "error: unexpected end of JSON input"),
        ("json.unmarshal(1)", "error: unsupported type conversion from 'int' to string"),
        ("json.unmarshal(b'{}')", "error: type conversion error from Bytes to 'string'"),
    ],
    "yaml": [
        ("yaml.parse('a: yes\\nb: 010')", {"a": True, "b": 8.0}),
        ("yaml.parse('')", None),
        (
            "yaml.parse('? [a, 1, {b: null}]\\n: c')",
            (
                "error: error converting YAML to JSON: yaml: invalid map key: []interface {}"
                '{"a", 1, map[interface {}]interface {}{"b":interface {}(nil)}}'
            ),
        ),
        (
            "yaml.parse('a: b: c')",
            (
                "error: error converting YAML to JSON: yaml: mapping values are not allowed "
                "in this context"
            ),
        ),
        (
            "yaml.parse('a:\\n- [')",
            (
                "error: error converting YAML to JSON: yaml: line 2: "
                "did not find expected node content"
            ),
        ),
        (
            "yaml.parse('a: [-.inf]')",
            "error: error converting YAML to JSON: json: unsupported value: -Inf",
        ),
    ],
    "random": [
        ("random().size()", 8),
        ("random.random('[ab]{10}').matches('^[ab]{10}$')", True),
        ("random('[')", "error: error parsing regexp: missing closing ]: `[`"),
    ],
    "time": [
        ("string(time.now())", "2026-02-03T04:05:06.000007Z"),
        ("time.toCron(timestamp('2024-02-29T13:07:59Z'))", "7 13 29 2 4"),
        ("time.toCron(timestamp('2024-12-01T00:00:00+05:00'))", "0 0 1 12 0"),
        (
            "string(time.truncate(timestamp('2024-02-29T13:07:59Z'), duration('7m')))",
            "2024-02-29T13:03:00Z",
        ),
        (
            "string(time.truncate(timestamp('2024-02-29T13:07:59Z'), duration('-1h')))",
            "2024-02-29T13:07:59Z",
        ),
    ],
    "transform": [
        ("listObjToMap([{'k': 'a'}], [{'v': 1}], 'k', 'v')", {"a": 1}),
        ("transform.listObjToMap([{'k': 'a'}], [{'v': 1}], 'k', 'w')", {"a": None}),
        (
            "listObjToMap([{'k': 'a'}], [], 'k', 'v')",
            "error: listObjToMap must take lists of equal length. list1: 1, list2: 0",
        ),
        (
            "listObjToMap([{'k': 1}], [{'v': 1}], 'k', 'v')",
            "error: the passed key name cannot be handled as a string in the key object list",
        ),
        (
            "listObjToMap([{'k': 'a'}], [1], 'k', 'v')",
            (
                "error: internal error: interface conversion: interface {} is int64, not "
                "map[interface {}]interface {}"
            ),
        ),
        (
            "listObjToMap([{1: 'a'}], [{'v': 1}], 'k', 'v')",
            "error: failed to convert key to a string, int64",
        ),
        (
            "listObjToMap([{'k': 'a'}], [{1: 1}], 'k', 'v')",
            ("error: object cannot be handled as a map string to any in the value object list"),
        ),
    ],
    "gzip": [
        ("gzip.decompress(gzip.compress('hello'))", "hello"),
        ("gzip.decompress(b'abc')", "error: unexpected EOF"),
        ("gzip.decompress(b'')", "error: EOF"),
        ("gzip.decompress(bytes('0123456789abcdef'))", "error: gzip: invalid header"),
        ("gzip.compress(1)", "error: unsupported type conversion from 'int' to string"),
    ],
    "images": [
        (f"image('aa@sha256:{HEX}').digest()", f"sha256:{HEX}"),
        ("image('nginx').repository() + ':' + image('nginx').tag()", "library/nginx:latest"),
        ("image('a/b').registry()", "index.docker.io"),
        ("image('localhost:5000/xx').registry()", "localhost:5000"),
        ("image('ghcr.io/a/b:1.2').identifier()", "1.2"),
        (f"image('aa:t@sha256:{HEX}').tag()", ""),
        (f"image('aa@sha256:{HEX}').identifier()", f"sha256:{HEX}"),
        (f"image('aa@sha256:{HEX}').containsDigest()", True),
        ("isImage('UPPER') || isImage('') || isImage('a')", False),
        ("parseImageReference('UP')", "error: could not parse reference: UP"),
        ("image('aa:')", "error: could not parse reference: aa:"),
        (
            "type(image('nginx'))",
            "error: type conversion error from 'kyverno.image' to 'type'",
        ),
    ],
    "image data": [
        ("image.getMetadata('nginx:1').tag", "1"),
        (
            "image.GetMetadata('b')",
            "error: failed to get image data: image data for b not found in the context",
        ),
    ],
    "users": [
        ("parseServiceAccount('system:serviceaccount:ns:name:x').Name", "name:x"),
        ("user.parseServiceAccount('system:serviceaccount:ns').Namespace", ""),
        ("parseServiceAccount('jane').Name", ""),
        ("json.marshal(parseServiceAccount('system:serviceaccount:n:'))", '{"namespace":"n"}'),
    ],
    "resources": [
        ("resource.Get('v1', 'configmaps', 'far', 'one').data.a", "1"),
        ("resource.get('v1', 'configmaps', 'far', 'two')", None),
        ("resource.list('v1', 'pods', 'a', {'k': 'v'}).items", [{"k": "v"}]),
        ("resource.List('v1', 'pods', 'a').items.size()", 0),
        (
            "resource.List('v1', 'secrets', 'a')",
            "error: failed to list resource: secrets resource not found",
        ),
        (
            "resource.Get('v1', 'configmaps', 'far', 'one') == null",
            "refused: found no matching overload for '_==_' applied to '(map(string, any), null)'",
        ),
        (
            "resource.Post('v1', 'pods', 'a', {'a': dyn(1)})",
            "error: internal error: not implemented",
        ),
        ("resource.ToGVR('v1', 'Pod')", "error: internal error: not implemented"),
    ],
    "global context": [
        ("globalContext.Get('known')", {"x": 1}),
        ("globalContext.get('unknown', 'p')", None),
        (
            "globalContext.Get('known', 'bad')",
            "error: failed to get global reference: projection bad",
        ),
    ],
    "http": [
        ("http.Get('http://a').method + http.post('http://a', {'a': 1}).method", "GETPOST"),
        ("http.Get('http://a', {'k': 'v'}).url", "http://a"),
        ("http.get('http://down')", "error: request failed: down"),
        (
            "http.Client('bad')",
            "error: request failed: failed to parse PEM CA bundle for APICall",
        ),
    ],
    "x509": [
        ("x509.decode('abc')", "error: failed to decode PEM block"),
    ],
}


def evaluated(text, environment=ENVIRONMENT):
    try:
        program = compile_expression(text, environment)
    except CompileError as error:
        return f"refused: {str(error).splitlines()[0].split(': ', 2)[2].split(' ', 1)[1]}"
    try:
        return program.evaluate(ordered(environment, VALUES))
    except (CelError, CelBudgetError) as error:
        return f"error: {error}"


IN_1_19_1 = [
    ("json.marshal(object.spec.nil)", "null"),
    ("json.marshal({'a': {'b': [null]}})", '{"a":{"b":[null]}}'),
    ("json.marshal([object.spec])", '[{"nil":null,"replicas":3}]'),
    ("json.marshal(optional.of({'a': 1}))", '{"a":1}'),
    (
        "json.marshal({true: 1})",
        (
            "error: json: failed to convert CEL map to native map: "
            "type conversion error from bool to 'string'"
        ),
    ),
    (
        "json.marshal({1: dyn(type(1))})",
        (
            "error: json: failed to convert CEL map to native map: "
            "unsupported type conversion from 'int' to string"
        ),
    ),
    (
        "json.marshal({'a': {1: 2}})",
        "error: json: unsupported map key type int64 (original key type: int64)",
    ),
    (
        "json.marshal(optional.of({1: 2}))",
        "error: json: unsupported map key type int64 (original key type: types.Int)",
    ),
    (
        "json.marshal([optional.none()])",
        "error: json: failed to convert CEL list to native slice: optional.none() dereference",
    ),
    (f"image('aa:t@sha256:{HEX}').tag()", "t"),
    (f"image('r.x:5000/aa:t@sha256:{HEX}').identifier()", f"t@sha256:{HEX}"),
    (f"image('aa:t@sha256:{HEX}').identifierWithSeparator()", f"@sha256:{HEX}"),
    ("image('aa').identifierWithSeparator()", ":latest"),
]
"""Rows whose values differ from those of 1.19.0."""


@pytest.mark.parametrize(("text", "value"), IN_1_19_1, ids=str)
def test_functions_of_1_19_1(text, value):
    assert evaluated(text, NEWER) == value
    assert evaluated(text) != value


@pytest.mark.parametrize(
    ("text", "value"), [row for rows in TABLES.values() for row in rows], ids=str
)
def test_functions(text, value):
    found = evaluated(text)
    assert found == value
    assert isinstance(found, bool) is isinstance(value, bool)
