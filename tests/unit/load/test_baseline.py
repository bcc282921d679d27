"""Baseline files."""

import pytest

from kyvsim.api.inputs import read_one
from kyvsim.kubernetes.objects import ObjectKey
from kyvsim.load.values import load_baseline
from kyvsim.model.result import KnownFailure
from kyvsim.report.run import baseline_text

# Baseline files, as they are read.

HEAD = "apiVersion: kyvsim/v1\nkind: Baseline\n"
ENTRY = """\
- policy: p
  rule: r
  resource: {apiVersion: v1, kind: Pod, namespace: shop, name: web}
  result: fail
  path: /spec/
"""
WEB = ObjectKey("v1", "Pod", "shop", "web")
READS = "but kyvsim reads `kyvsim/v1`: `kyvsim apply --write-baseline FILE` rewrites it"
FAILURE = KnownFailure("p", "r", WEB, "fail", "/spec/", "")


@pytest.fixture
def read(tmp_path):
    def one(text):
        path = tmp_path / "b.yaml"
        path.write_text(text)
        found, said = read_one(str(path), "Baseline", load_baseline)
        return found, [str(entry).removeprefix(f"{tmp_path}/") for entry in said]

    return one


def test_entries_have_numbers_and_places(read):
    found, said = read(f"{HEAD}failures:\n{ENTRY}{ENTRY.replace('/spec/', '/x/')}  count: 3\n")
    assert said == []
    numbers = {failure.path: entry.number for failure, entry in found.entries.items()}
    assert numbers == {"/spec/": 1, "/x/": 3}
    assert found.entries[FAILURE].place.line == 4


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f"{HEAD}failures: []\n", []),
        (
            HEAD.replace("v1", "v2") + "failures: []\n",
            [f"b.yaml:1:1: error KV091: this baseline has version `kyvsim/v2`, {READS}"],
        ),
        (
            "kind: Baseline\nfailures: []\n",
            [f"b.yaml:1:1: error KV091: this baseline has no version, {READS}"],
        ),
        (
            "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\n",
            ["b.yaml:1:1: error KV091: expected a baseline, found Pod"],
        ),
        ("a: [", ["b.yaml:2:1: error KV006"]),
        ("", ["b.yaml: error KV009"]),
        (
            f"{HEAD}failures: []\n---\n{HEAD}",
            ["b.yaml:5:1: error KV030: a file of kind Baseline must have one document"],
        ),
        (
            f"{HEAD}failure: []\n",
            ["b.yaml:3:1: error KV012: unknown field `failure`: did you mean"],
        ),
        (
            f"{HEAD}failures:\n{ENTRY.replace('result', 'reslt')}",
            ["b.yaml:7:3: error KV012: unknown field `failures[0].reslt`: did you mean `result`?"],
        ),
        (
            f"{HEAD}failures:\n{ENTRY.replace('fail', 'failed')}",
            ["b.yaml:7:3: error KV014: `failures[0].result` must be one of"],
        ),
        (
            f"{HEAD}failures:\n{ENTRY}  count: 0\n",
            ["b.yaml:9:3: error KV016: `failures[0].count` must be at least 1"],
        ),
        (
            f"{HEAD}failures:\n{ENTRY}{ENTRY}",
            ["b.yaml:9:3: error KV092: duplicate of the entry in line 4"],
        ),
        (f"{HEAD}failures:\n<<<<<<< HEAD\n{ENTRY}=======\n", ["b.yaml:5:1: error KV006"]),
    ],
)
def test_one_thing_is_told_of_a_baseline_that_cannot_be_used(read, text, told):
    found, said = read(text)
    assert [one[: len(wanted)] for one, wanted in zip(said, told, strict=True)] == told
    assert (found is None) is bool(told)


@pytest.mark.parametrize(
    "failure",
    [
        FAILURE,
        KnownFailure("ns/p", "", ObjectKey("", "", "", ""), "warn", "", ""),
        KnownFailure("p", "yes", WEB, "error", "", 'two lines: "a"\n- b # c\n'),
        KnownFailure("p", "null", WEB, "fail", "", " \t\x1b[0m\u2028{}"),
        KnownFailure("1", "2", WEB, "fail", "", "0x1"),
    ],
)
def test_what_is_written_is_read_back(read, failure):
    found, said = read("".join(baseline_text({failure: 2, FAILURE._replace(rule="z"): 1})))
    assert said == []
    assert {one: entry.number for one, entry in found.entries.items()} == {
        failure: 2,
        FAILURE._replace(rule="z"): 1,
    }


def test_a_baseline_is_sorted_whatever_the_order():
    failures = [FAILURE._replace(policy=policy, rule=rule) for policy in "ba" for rule in "yx"]
    texts = {"".join(baseline_text(dict.fromkeys(some, 1))) for some in (failures, failures[::-1])}
    assert len(texts) == 1
    (text,) = texts
    assert [line for line in text.splitlines() if line.startswith("- ")] == [
        "- policy: a",
        "- policy: a",
        "- policy: b",
        "- policy: b",
    ]
