"""Payloads out of files."""

import pytest

from kyvsim.load.files import Source
from kyvsim.load.resources import read_payloads
from kyvsim.model.request import PayloadMode

JSON = PayloadMode.JSON


def read(name, text, mode=JSON):
    found, said = read_payloads([(mode, Source(name, text))])
    return [one.data for one in found], [one.code for one in said]


def test_numbers_of_json_are_doubles_and_those_of_yaml_are_not():
    for name, kind in (("p.json", float), ("p.yaml", int)):
        ((data,), said) = read(name, '{"a": 1}')
        assert data["a"].__class__ is kind
        assert not said


@pytest.mark.parametrize(
    ("name", "text", "mode"),
    [
        ("p.txt", "{}", JSON),
        ("p.json", "[1]", JSON),
        ("p.yaml", "a: 1\n---\nb: 2", JSON),
        ("p.yaml", "a: 1", PayloadMode.HTTP),
    ],
)
def test_what_cannot_be_used_is_told(name, text, mode):
    found, codes = read(name, text, mode)
    assert not found
    assert "KV152" in codes or "KV006" in codes
