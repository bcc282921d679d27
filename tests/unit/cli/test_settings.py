"""What a configuration and variables set for commands."""

import json

import click
import pytest

from kyvsim.cli import lsp
from kyvsim.cli.commands import kyvsim as program

POLICY = """apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata:
  name: named
spec:
  rules:
    - name: labelled
      match: {any: [{resources: {kinds: [Pod]}}]}
      validate:
        message: label app is required
        pattern: {metadata: {labels: {app: "?*"}}}
"""
POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\n"


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A folder with a policy and a Pod that fails it; calls go from a folder in it."""
    (tmp_path / "pol").mkdir()
    (tmp_path / "pol/named.yaml").write_text(POLICY)
    (tmp_path / "man").mkdir()
    (tmp_path / "man/pod.yaml").write_text(POD)
    (tmp_path / "deep").mkdir()
    monkeypatch.chdir(tmp_path / "deep")
    return tmp_path


def configure(project, text, name=".kyvsim.yaml"):
    (project / name).write_text(text)


WHOLE = "policies: pol\nresource: [man]\n"
TOML = '[tool.kyvsim]\npolicies = "pol"\nresource = ["man"]\n'


@pytest.mark.parametrize(
    ("name", "text"), [(".kyvsim.yaml", WHOLE), ("pyproject.toml", TOML)], ids=["yaml", "toml"]
)
def test_paths_are_those_of_the_configurations_folder(project, kyvsim, name, text):
    configure(project, text, name)
    status, out, _ = kyvsim("apply")
    assert (status, "../man/pod.yaml:3:1" in out) == (1, True)
    assert kyvsim("lint")[0] == 0


def test_a_line_says_otherwise(project, kyvsim):
    configure(project, WHOLE + "apply: {output-format: json, table: false}\n")
    (project / "other.yaml").write_text("apiVersion: v1\nkind: Namespace\nmetadata: {name: n}\n")
    assert json.loads(kyvsim("apply")[1])["summary"]["fail"] == 1
    status, out, _ = kyvsim("apply", "-r", "../other.yaml", "--output-format", "csv")
    assert (status, "web" in out) == (0, False)


@pytest.mark.parametrize("spelled", [["-s", "b"], ["-sb"]], ids=["plain", "not plain"])
def test_a_wrong_value_on_a_line_has_no_place_in_a_file(project, kyvsim, spelled):
    configure(project, WHOLE + "apply: {set: a}\n")
    assert "error: --set b: not of the form" in kyvsim("apply", *spelled)[2]


def test_options_that_do_not_go_together_are_told_with_what_is_set_elsewhere(
    project, kyvsim, monkeypatch
):
    configure(project, WHOLE + "apply: {table: true}\n")
    monkeypatch.setenv("KYVSIM_QUIET", "1")
    told = "Set outside of the command line: "
    _, _, err = kyvsim("apply", "--output-format", "json")
    assert f"{told}policies (../.kyvsim.yaml:1:1), --resource (../.kyvsim.yaml:2:1), " in err
    assert "--table (../.kyvsim.yaml:3:9), " in err
    assert "--quiet (KYVSIM_QUIET)" in err
    assert told not in kyvsim("apply", "--budget", "x")[2]


def test_a_flag_can_be_switched_off(project, kyvsim):
    configure(project, WHOLE + "apply: {table: true}\n")
    assert "RESULT" in kyvsim("apply")[1]
    assert "RESULT" not in kyvsim("apply", "--table=false")[1]


@pytest.mark.usefixtures("older_release")
def test_a_comma_that_splits_nothing_stays_as_it_is(project, kyvsim):
    configure(project, WHOLE + "apply: {namespace-labels: ['default:team=a,tier=b']}\n")
    status, _, err = kyvsim("apply")
    assert (status, err) == (1, "")


def test_variables_count_before_files_and_those_of_a_command_first(project, kyvsim, monkeypatch):
    configure(project, WHOLE + "apply: {output-format: csv}\njobs: 2\n")
    monkeypatch.setenv("KYVSIM_APPLY_OUTPUT_FORMAT", "json")
    monkeypatch.setenv("KYVSIM_JOBS", "3")
    monkeypatch.setenv("KYVSIM_APPLY_JOBS", "1")
    assert json.loads(kyvsim("apply")[1])["summary"]["fail"] == 1
    held = json.loads(kyvsim("config", "-o", "json")[1])["settings"]
    jobs = {one["command"]: (one["value"], one["origin"]) for one in held if one["key"] == "jobs"}
    assert jobs["apply"] == (["1"], "KYVSIM_APPLY_JOBS")
    assert jobs["test"] == (["3"], "KYVSIM_JOBS")


def test_another_configuration_or_none_can_be_named(project, kyvsim, monkeypatch):
    configure(project, WHOLE)
    configure(project, "policies: pol\nresource: nowhere\n", "other.yaml")
    monkeypatch.setenv("KYVSIM_CONFIG", "../other.yaml")
    assert "nowhere: error KV001" in kyvsim("apply")[2]
    monkeypatch.setenv("KYVSIM_CONFIG", "")
    assert "no policy given" in kyvsim("apply")[2]


def test_a_table_of_another_program_is_none(project, kyvsim):
    configure(project, "[tool.other]\npolicies = 1\n", "pyproject.toml")
    assert "no policy given" in kyvsim("apply")[2]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("exclud: [a]\n", "../.kyvsim.yaml:1:1: error KV095: `exclud` is not a setting here: did"),
        ("apply: {tabel: true}\n", "../.kyvsim.yaml:1:9: error KV095: `tabel` is not a setting"),
        ("strict: maybe\n", "../.kyvsim.yaml:1:1: error KV096: `strict` must be true or false"),
        ("resource: {a: b}\n", "error KV096: `resource` must be a string, or a list of strings"),
        ("values-file: [a, b]\n", "error KV096: `values-file` must be a string or a number"),
        ("apply: [a]\n", "error KV096: `apply` must be a map"),
        ("jobs: many\n", "../.kyvsim.yaml:1:1: Invalid value for '-j' / '--jobs': 'many'"),
        ("now: soon\n", "error: ../.kyvsim.yaml:1:1: --now soon: not a time"),
        ("budget: lots\n", "error: ../.kyvsim.yaml:1:1: --budget lots: not one of rule=N"),
        ("exclude: '!'\n", "error: ../.kyvsim.yaml:1:1: --exclude !: "),
        ("apply: {set: a}\n", "error: ../.kyvsim.yaml:1:9: --set a: not of the form"),
        ("apply: {output-format: cvs}\n", "error: ../.kyvsim.yaml:1:9: --output-format cvs: "),
        ("apply: {output-format: cvs}\njobs: 2_0\n", "../.kyvsim.yaml:1:9: --output-format cvs"),
        ("- a\n", "../.kyvsim.yaml: error KV094: a configuration must be one map"),
        ("a: [\n", "error KV006"),
        ("", "error KV009"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(project, kyvsim, text, told):
    configure(project, text)
    status, out, err = kyvsim("apply", "../pol", "-r", "../man")
    assert (status, out) == (2, "")
    assert told in err


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('[tool.kyvsim]\nexclud = "a"\n', "../pyproject.toml:2:1: error KV095"),
        ("[tool.kyvsim.apply]\n  tabel = true\n", "../pyproject.toml:2:3: error KV095"),
        ("[tool]\nkyvsim = 1\n# tool.kyvsim", "error KV094: `kyvsim` must be a table"),
        ("[tool.kyvsim\n", "../pyproject.toml:1:13: error KV094: cannot be read"),
    ],
)
def test_what_is_wrong_in_toml_is_told(project, kyvsim, text, told):
    configure(project, text, "pyproject.toml")
    status, _, err = kyvsim("apply", "../pol", "-r", "../man")
    assert (status, told in err) == (2, True), err


def test_two_configurations_in_one_folder_are_an_error(project, kyvsim):
    configure(project, WHOLE)
    configure(project, TOML, "pyproject.toml")
    status, _, err = kyvsim("apply")
    assert (status, "keep one of the two" in err) == (2, True)


def test_keys_of_other_commands_are_let_be(project, kyvsim):
    configure(project, WHOLE + "test: {tests: t}\njobs: 1\n")
    assert kyvsim("lint")[0] == 0


def test_a_misspelt_variable_is_told_and_a_stranger_is_not(project, kyvsim, monkeypatch):
    configure(project, WHOLE)
    monkeypatch.setenv("KYVSIM_APPLY_TABEL", "1")
    monkeypatch.setenv("KYVSIM_XYZZY_QUUX_PLUGH", "1")
    _, _, err = kyvsim("apply")
    assert "KYVSIM_APPLY_TABEL: warning KV095: no option has this environment variable: did" in err
    assert "QUUX" not in err


def test_a_flags_variable_is_true_or_false(project, kyvsim, monkeypatch):
    configure(project, WHOLE)
    monkeypatch.setenv("KYVSIM_STRICT", "perhaps")
    status, _, err = kyvsim("apply")
    assert (status, err) == (2, "KYVSIM_STRICT: error KV096: `perhaps` is neither true nor false\n")


def test_help_is_shown_whatever_is_set(project, kyvsim):
    configure(project, "exclud: a\n")
    assert kyvsim("apply", "--help")[0] == 0


def test_formats_with_files_go_beside_the_configuration(project, kyvsim):
    configure(project, WHOLE + "apply: {output-format: [text, csv=out.csv]}\n")
    assert kyvsim("apply")[0] == 1
    assert (project / "out.csv").is_file()


def test_an_option_of_another_command_is_told_in_its_words(project, kyvsim):
    configure(project, "equal: {budget: 3}\n")
    status, _, err = kyvsim("equal", "old.yaml", "new.yaml")
    assert status == 2
    assert "KV095: `budget` is not a setting here: --budget limits evaluation steps" in err
    assert "--seconds N" in err


@pytest.mark.parametrize(
    ("variables", "origin"),
    [
        ({"KYVSIM_RESOURCE": "a"}, "KYVSIM_RESOURCE"),
        ({"KYVSIM_RESOURCE": "a", "KYVSIM_RESOURCES": "b"}, "KYVSIM_RESOURCES"),
        ({"KYVSIM_RESOURCES": "a", "KYVSIM_APPLY_RESOURCE": "b"}, "KYVSIM_APPLY_RESOURCE"),
        ({"KYVSIM_RESOURCE": ""}, "KYVSIM_RESOURCE"),
    ],
)
def test_the_strongest_variable_counts_an_empty_one_too(
    project, kyvsim, monkeypatch, variables, origin
):
    configure(project, WHOLE)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    held = json.loads(kyvsim("config", "apply", "-o", "json")[1])["settings"]
    found = {one["key"]: (one["value"], one["origin"]) for one in held}
    assert found["resource"] == ([variables[origin]], origin)


def test_a_value_of_a_variable_is_one_whatever_blanks_it_has(project, kyvsim, monkeypatch):
    configure(project, WHOLE)
    (project / "two words").mkdir()
    (project / "two words/pod.yaml").write_text(POD)
    monkeypatch.setenv("KYVSIM_APPLY_RESOURCE", "../two words,../man")
    status, out, _ = kyvsim("apply")
    assert (status, "../two words/pod.yaml" in out, "../man/pod.yaml" in out) == (1, True, True)


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("KYVSIM_APPLY_JOBS", "x", "error: KYVSIM_APPLY_JOBS: Invalid value for '-j' / '--jobs'"),
        ("KYVSIM_NOW", "soon", "error: KYVSIM_NOW: --now soon: not a time"),
        ("KYVSIM_BUDGET", "all", "error: KYVSIM_BUDGET: --budget all: not one of"),
    ],
)
def test_a_wrong_value_of_a_variable_is_told_with_its_name(
    project, kyvsim, monkeypatch, name, value, told
):
    configure(project, WHOLE)
    monkeypatch.setenv(name, value)
    status, _, err = kyvsim("apply")
    assert (status, told in err) == (2, True), err


def test_an_option_on_the_configuration_is_no_setting(project, kyvsim, monkeypatch):
    configure(project, WHOLE + "apply: {config: other.yaml}\n")
    status, _, err = kyvsim("apply")
    assert (status, "error KV095: `config` is not a setting here" in err) == (2, True)
    monkeypatch.setenv("KYVSIM_NO_CONFIG", "1")
    assert kyvsim("apply")[0] == 2


def test_what_an_editor_is_served_by_begins_whatever_is_set(project, monkeypatch):
    configure(project, "strict: true\nmax-files: many\n")
    monkeypatch.setenv("KYVSIM_JOBS", "x")
    monkeypatch.setenv("KYVSIM_EXCLUDE", "!")
    root = click.Context(program, info_name="kyvsim", **program.context_settings)
    with lsp.command.make_context("lsp", ["pol"], root) as ctx:
        found = lsp.editor_settings(ctx, {"paths": ("pol",)})
    assert (found.rules.paths, found.rules.strict) == (("pol",), True)
    assert sorted((one.code, str(one.location)) for one in found.remarks) == [
        ("KV096", "../.kyvsim.yaml:2:1"),
        ("KV096", "KYVSIM_EXCLUDE"),
    ]
