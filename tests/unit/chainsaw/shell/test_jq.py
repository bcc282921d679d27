"""The program jq."""

import contextlib
import json

import pytest

from kyvsim.chainsaw.environment import STDERR, STDOUT, ProgramCall, ShellEnvironment
from kyvsim.chainsaw.errors import HardError, ScriptLimits, UnsupportedError, Usage
from kyvsim.chainsaw.shell.jq import jq

DATA = {
    "metadata": {"name": "a", "uid": "u-1", "labels": {"b/c": "x", "a": "y"}},
    "items": [{"n": 1, "on": True}, {"n": 2, "on": False}, {"n": True}],
    "none": None,
}


@pytest.fixture
def run(situation):
    """Return what runs a filter with flags on data."""

    def go(*arguments, data=DATA):
        text = data if isinstance(data, str) else json.dumps(data)
        return jq(ProgramCall(arguments, text, ShellEnvironment(situation.session)))

    return go


@pytest.mark.parametrize(
    ("arguments", "output"),
    [
        ((".metadata.name",), '"a"\n'),
        (("-r", ".metadata.name"), "a\n"),
        (('.metadata.labels["b/c"]',), '"x"\n'),
        (("-c", ".items[0]"), '{"n":1,"on":true}\n'),
        ((".items[0]",), '{\n  "n": 1,\n  "on": true\n}\n'),
        (("-c", "[.items[].n]"), "[1,2,true]\n"),
        (("-c", ".items | map(.n == 1)"), "[true,false,false]\n"),
        (
            ("-rc", '{"m": {name: .metadata.uid, "l": [1, "t"]}}'),
            '{"m":{"name":"u-1","l":[1,"t"]}}\n',
        ),
        (("-c", "{a: (1, 2)}"), '{"a":1}\n{"a":2}\n'),
        ((".items[] | select(.on) | .n",), "1\n"),
        ((".items | length",), "3\n"),
        (("-c", ".metadata.labels | keys"), '["a","b/c"]\n'),
        (('.none.deep // "else", .missing',), '"else"\nnull\n'),
        ((".none == null and (.items[1].on | not) or false",), "true\n"),
        (('.items[7] == null, (.metadata.name != "a")',), "true\nfalse\n"),
        (
            (
                "-c",
                "[], . == .",
            ),
            "[]\ntrue\n",
        ),
    ],
)
def test_filters(arguments, output, run):
    assert (run(*arguments).status, run(*arguments).text(STDOUT)) == (0, output)


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (("-e", ".none == null"), 0),
        (("-e", ".none"), 1),
        (("-e", ".items[0].on == false"), 1),
        (("-e", ".items[] | select(.n == 9)"), 4),
        ((".none",), 0),
        ((".", "missing"), 2),
        ((".metadata.name.first",), 5),
        ((".metadata[]",), 0),
        ((".metadata.name[]",), 5),
        ((".items[0].n | length, keys",), 5),
    ],
)
def test_statuses(arguments, status, run):
    assert run(*arguments).status == status


def test_errors_are_shown_as_jq_does(run):
    told = run(".metadata.name.first").text(STDERR)
    assert told == 'jq: error (at <stdin>:0): Cannot index string with "first"\n'


@pytest.mark.parametrize(
    "text",
    [
        "map(",
        ".a |",
        "..",
        ".[1:2]",
        "input",
        "$x",
        ".a + 1",
        '"\\(.a)"',
        "{a}",
        "(" * 99,
        ". " * 9999,
    ],
)
def test_other_filters_are_unsupported(text, run):
    with pytest.raises(UnsupportedError):
        run(text)


@pytest.mark.parametrize("data", ["{", "1 2", "[" * 99_999, "[" * 900 + "]" * 900, "9" * 9999])
def test_other_input_is_unsupported_or_printed(data, run):
    with contextlib.suppress(UnsupportedError):
        assert run(".", data=data).status == 0


def test_filters_are_limited(run, situation):
    situation.session.usage = Usage(ScriptLimits(steps=5_000))
    with pytest.raises(HardError, match="steps"):
        run("[" + "|".join(["(.,.)"] * 16) + "]")
