"""`kyvsim config`: what is set, and from where."""

import json
import os

import jsonschema
import pytest


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An empty working folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_nothing_set_is_said(kyvsim):
    assert kyvsim("config") == (0, "configuration: none\n", "")


def test_settings_stand_below_their_commands_with_their_places(folder, kyvsim):
    (folder / ".kyvsim.yaml").write_text("policies: [a, b]\nlint: {strict: true}\n")
    status, out, _ = kyvsim("config", "lint")
    assert status == 0
    assert out == (
        "configuration: .kyvsim.yaml\n\nlint\n"
        "  policies  a, b  .kyvsim.yaml:1:1\n"
        "  strict    true  .kyvsim.yaml:2:8\n"
    )


def test_all_shows_what_is_not_set(kyvsim):
    status, out, _ = kyvsim("config", "lint", "--all", "-o", "json")
    held = {one["key"]: one["origin"] for one in json.loads(out)["settings"]}
    assert (status, held["strict"], held["policies"]) == (0, "default", "default")


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo, lambda place: os.symlink("nowhere", place)])
def test_a_configuration_that_is_no_file_is_an_error(folder, kyvsim, make):
    make(folder / ".kyvsim.yaml")
    status, _, err = kyvsim("config")
    assert (status, err.startswith(".kyvsim.yaml: error KV")) == (2, True)


def test_all_mistakes_of_a_file_are_told(folder, kyvsim):
    (folder / ".kyvsim.yaml").write_text("test: {jbs: 1}\njp: {query: {inptu: x}}\n")
    status, _, err = kyvsim("config")
    assert status == 2
    assert "`jbs` is not a setting here: did you mean `jobs`?" in err
    assert "`inptu` is not a setting here: did you mean `input`?" in err


def test_values_that_no_command_takes_are_told_once(folder, kyvsim):
    (folder / ".kyvsim.yaml").write_text("jobs: many\napply: {show: nothing, now: soon}\n")
    status, out, err = kyvsim("config")
    assert (status, "many" in out) == (2, True)
    assert [line.partition(": ")[0] for line in err.splitlines()] == [
        f".kyvsim.yaml:{place}" for place in ("1:1", "2:9", "2:24")
    ]


@pytest.mark.parametrize(
    ("text", "place", "why"),
    [
        ("[tool.kyvsim]\nx = " + "[" * 20_000, "2:205", "nested more than 200 deep"),
        ("[tool.kyvsim]\n\nx = " + "{a=" * 20_000, "3:605", "nested more than 200 deep"),
        ('[tool.kyvsim]\nstrict = true\nx = "a', "3:7", "cannot be read"),
        ("[tool.kyvsim]\nstrict = maybe", "2:10", "cannot be read"),
        ("[tool.kyvsim]\nx = " + "9" * 5_000, "", "cannot be read"),
        ("[tool.kyvsim.test]\njobs = 0x" + "f" * 5_000, "2:1", "at most 64 bits"),
        ("[tool.kyvsim]\n# \u2028\nstrict = 1", "3:1", "must be true or false"),
    ],
    ids=["list", "table", "text", "word", "digits", "hexadecimal", "line separator"],
)
def test_a_table_that_cannot_be_read_is_an_error_with_its_place(folder, kyvsim, text, place, why):
    (folder / "pyproject.toml").write_text(text, encoding="utf-8")
    status, _, err = kyvsim("config")
    file = f"pyproject.toml:{place}" if place else "pyproject.toml"
    assert (status, err.partition(": ")[0]) == (2, file)
    assert why in err
    assert "internal" not in err


def test_a_command_that_is_not_there_is_an_error(kyvsim):
    status, out, err = kyvsim("config", "aply")
    assert (status, out) == (2, "")
    assert "unknown command `aply`: did you mean `apply`?" in err


@pytest.mark.parametrize(
    ("data", "fits"),
    [
        ({"policies": "a", "resource": ["b", "c"], "apply": {"table": True}}, True),
        ({"jp": {"query": {"compact": True}}}, True),
        ({"jobs": 2}, True),
        ({"jobs": "many"}, False),
        ({"polices": "a"}, False),
        ({"apply": {"tabel": True}}, False),
    ],
)
def test_the_schema_says_what_a_configuration_may_hold(kyvsim, data, fits):
    schema = json.loads(kyvsim("config", "--schema")[1])
    assert jsonschema.Draft7Validator(schema).is_valid(data) == fits


def test_a_pipe_that_is_called_like_a_project_is_not_waited_for(folder, kyvsim):
    os.mkfifo(folder / "pyproject.toml")
    assert kyvsim("config") == (0, "configuration: none\n", "")
