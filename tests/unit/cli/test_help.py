"""What the help of commands shows."""

import pytest


def sections(text):
    """Return the titles of the sections of a help text, in their order."""
    return [line[:-1] for line in text.splitlines() if line[:1].isalpha() and line.endswith(":")]


@pytest.mark.parametrize(
    ("command", "titles"),
    [
        ("apply", "Input Request Evaluation Output|Exit status|Performance|Distributed runs"),
        ("diff", "Input Request Evaluation Output|Exit status|Performance"),
        ("explain", "Input Request Evaluation Output|Performance"),
        ("simulate", "Input Request Evaluation Output|Exit status|Performance"),
        ("test", "Input Evaluation Output|Exit status|Coverage and mutation testing|Performance"),
    ],
)
def test_options_are_in_sections(kyvsim, command, titles):
    status, out, _ = kyvsim(command, "--help")
    first, *rest = titles.split("|")
    assert (status, sections(out)) == (0, [*first.split(), *rest, "Other options"])


def test_few_options_need_no_section(kyvsim):
    assert sections(kyvsim("version", "--help")[1]) == ["Options"]


@pytest.mark.parametrize(
    ("shown", "alias"),
    [("--resource PATH", "--resources"), ("--output-format FORMAT", "--format")],
)
def test_aliases_work_and_are_not_shown(kyvsim, shown, alias):
    _, out, _ = kyvsim("apply", "--help")
    assert shown in out
    assert f"{alias} " not in out
    values = {"--resources": "fixtures/final-rfc-job-generator", "--format": "json"}
    arguments = [
        "apply",
        "policies/final-rfc-job-generator",
        "--resource",
        "fixtures/final-rfc-job-generator",
    ]
    assert kyvsim(*arguments, alias, values[alias])[0] in {0, 1}


@pytest.mark.parametrize("words", [("apply",), ("jp", "query"), ()])
def test_help_is_a_command(kyvsim, words):
    assert kyvsim("help", *words) == kyvsim(*words, "--help")


def test_help_of_no_command(kyvsim):
    status, _, err = kyvsim("help", "jp", "nonsense")
    assert (status, "unknown command: jp nonsense" in err) == (2, True)


@pytest.mark.parametrize("command", ["lint", "test"])
def test_the_working_folder_is_the_default_path(kyvsim, tmp_path, monkeypatch, command):
    (tmp_path / "policy.yaml").write_text("kind: ClusterPolicy\nspec: [\n")
    monkeypatch.chdir(tmp_path)
    status, out, err = kyvsim(command)
    named = "policy.yaml:" if command == "lint" else ".: error KV049"
    assert (status, named in out + err) == (2, True)
