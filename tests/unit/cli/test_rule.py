import json

import pytest

from kyvsim.cli.main import run


def said(capsys, *arguments):
    status = run(["rule", *arguments])
    streams = capsys.readouterr()
    return status, streams.out, streams.err


def test_a_code_is_shown_with_both_examples(capsys):
    status, out, _ = said(capsys, "KV202")
    assert status == 0
    assert out.startswith(
        "KV202: deprecated field\nSeverity: warning\n"
        "Fix: `kyvsim lint --fix`, where only one correction can be meant\n"
        "Page: docs/diagnostics/KV202.md\n"
    )
    bad, good = out.split("Bad:")[1].split("Good:")
    assert "validationFailureAction: Enforce" in bad
    assert "      failureAction: Enforce" in good


@pytest.mark.parametrize("name", ["kv202", "202"])
def test_codes_may_be_written_in_other_ways(capsys, name):
    assert said(capsys, name)[1] == said(capsys, "KV202")[1]


def test_without_a_code_all_are_listed_by_group(capsys):
    status, out, _ = said(capsys)
    assert status == 0
    assert "Files and YAML\n  KV001" in out
    assert "\n  KV226" in out


def test_an_unknown_code_is_refused_with_the_likely_one(capsys):
    status, out, err = said(capsys, "KV2022")
    assert (status, out) == (2, "")
    assert "unknown code `KV2022`: did you mean `KV222`?" in err


def test_json_has_the_same(capsys):
    _, out, _ = said(capsys, "-o", "json", "KV040")
    (one,) = json.loads(out)["codes"]
    assert one["code"] == "KV040"
    assert one["severities"] == ["error"]
    assert one["page"] == "docs/diagnostics/KV040.md"
    assert one["bad"]["command"] == "kyvsim lint example.yaml"
    assert "status: pass" in one["bad"]["files"]["example.yaml"]
    assert "result: pass" in one["good"]["files"]["example.yaml"]
    assert one["beside"] == {}


def test_an_example_of_several_files_is_shown_with_its_command(capsys):
    _, out, _ = said(capsys, "KV073")
    assert "\nBad, with `kyvsim apply policy.yaml" in out
    beside = out.split("\nFiles for both:\n")[1]
    assert "    # policy.yaml\n" in beside
    assert "    # resource.yaml\n" in beside
    (one,) = json.loads(said(capsys, "-o", "json", "KV073")[1])["codes"]
    assert set(one["beside"]) == {"policy.yaml", "resource.yaml"}
    assert set(one["bad"]["files"]) == {"values.yaml"}
