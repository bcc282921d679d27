import io
import json
import sys

import pytest

GOOD = """\
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: good}
spec:
  rules:
  - name: r
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate: {message: never, deny: {}}
"""
OLD = GOOD.replace("spec:", "spec:\n  validationFailureAction: Audit").replace("good", "old")
BAD = GOOD.replace("validate", "validat").replace("good", "bad")
BUDGET = "kind: PodDisruptionBudget\napiVersion: policy/v1\n"


@pytest.fixture
def written(tmp_path, monkeypatch):
    """A function that writes a file into the working folder."""
    monkeypatch.chdir(tmp_path)

    def write(name, text):
        (tmp_path / name).write_text(text, encoding="utf-8")
        return name

    return write


@pytest.mark.parametrize(
    ("text", "options", "status"),
    [
        (GOOD, (), 0),
        (GOOD, ("--strict",), 0),
        (OLD, (), 0),
        (OLD, ("--strict",), 2),
        (BAD, (), 2),
        (BAD + "---\n" + OLD, ("--strict",), 2),
        (BUDGET, (), 2),
    ],
)
def test_exit_status(written, kyvsim, text, options, status):
    assert kyvsim("lint", written("p.yaml", text), *options)[0] == status


def remarks(out):
    """Return the lines of findings: those that name a place."""
    return [line for line in out.splitlines() if " KV" in line and not line.startswith(" ")]


def test_findings_are_shown_with_their_lines_and_summed_up(written, kyvsim):
    _, out, err = kyvsim("lint", written("b.yaml", OLD), written("a.yaml", BAD))
    first, second = remarks(out)
    assert first.startswith("b.yaml:5:3: warning KV202: field `validationFailureAction`")
    assert second == (
        "a.yaml:8:5: error KV012: unknown field `spec.rules[0].validat`: did you mean `validate`?"
    )
    assert "INCOMPLETE: 1 error in 1 input · 2 policy documents checked" in out
    assert "    8 |     validat: {message: never, deny: {}}\n      |     ^^^^^^^\n" in out
    assert (
        "  KV012  first: a.yaml:8:5                                            1        -\n" in out
    )
    assert err == ""


def test_a_policy_that_is_given_twice_is_told_of_once(written, kyvsim):
    name = written("p.yaml", OLD)
    _, out, _ = kyvsim("lint", name, name)
    assert len(remarks(out)) == 1


def test_standard_input(kyvsim, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(BAD.encode())))
    status, out, _ = kyvsim("lint", "-", "--output-format", "json")
    assert status == 2
    assert json.loads(out)["diagnostics"][0]["file"] == "<stdin>"


def test_an_expression_that_does_not_compile_has_its_place(written, kyvsim):
    context = "[{name: x, variable: {jmesPath: 'a['}}]"
    loop = f"{{foreach: [{{list: a, context: {context}, deny: {{}}}}]}}"
    text = GOOD.replace("{message: never, deny: {}}", loop)
    status, out, _ = kyvsim("lint", written("p.yaml", text))
    assert status == 2
    place = "p.yaml:8:67: error KV190: rule `r` cannot be compiled: Syntax"
    assert [line for line in remarks(out) if line.startswith(place)]
    assert "KV209" not in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("https://example.com/p.yaml",), "kyvsim works offline"),
        (("p.yaml", "--output-format", "xml"), "xml: choose from text, json"),
    ],
)
def test_usage(kyvsim, arguments, message):
    status, out, err = kyvsim("lint", *arguments)
    assert (status, out) == (2, "")
    assert message in err


def test_files_without_a_policy_are_passed_over_where_that_is_asked_for(written, kyvsim):
    names = [written("p.yaml", GOOD), written("values.yaml", "a: b\n"), written("empty.yaml", "")]
    assert kyvsim("lint", *names)[0] == 2
    status, out, err = kyvsim("lint", "--skip-others", "--show-ignored", *names)
    assert (status, remarks(out)) == (0, [])
    assert "values.yaml:1:1: ignored: " in err
    assert "1 document ignored" in out
    assert kyvsim("lint", "--skip-others", *names[1:])[0] == 0


@pytest.mark.parametrize("text", [BAD, "a: [\n"])
def test_what_is_wrong_is_not_passed_over(written, kyvsim, text):
    assert kyvsim("lint", "--skip-others", written("p.yaml", text))[0] == 2


def test_files_that_are_ignored_are_passed_over_with_them(written, kyvsim):
    named = written("p.yaml", BAD)
    written(".kyvsimignore", "p.yaml\n")
    assert kyvsim("lint", named)[0] == 2
    assert kyvsim("lint", "--skip-others", named)[0] == 0
    assert kyvsim("lint", "--skip-others", "--no-ignore", named)[0] == 2


UNUSED = GOOD.replace(
    "    validate", "    context: [{name: x, variable: {value: 1}}]\n    validate"
)


@pytest.mark.parametrize(
    ("options", "codes", "status"),
    [
        ((), ["KV204"], 0),
        (("--ignore", "KV201,KV204"), [], 0),
        (("--ignore", "KV3"), ["KV204"], 0),
        (("--select", "KV3", "--select", "KV204"), ["KV204"], 0),
        (("--select", "KV3"), [], 0),
        (("--severity", "KV2=error"), ["KV204"], 2),
        (("--severity", "KV2=error,KV204=info", "--strict"), ["KV204"], 0),
    ],
)
def test_warnings_are_chosen_by_code(written, kyvsim, options, codes, status):
    found, out, _ = kyvsim("lint", written("p.yaml", UNUSED), *options, "-o", "json")
    assert found == status
    assert [one["code"] for one in json.loads(out)["diagnostics"]] == codes


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("--select", "KV999"), "no diagnostic has a code that begins with `KV999`"),
        (("--ignore", "KV204,kv3"), "no diagnostic has a code that begins with `kv3`"),
        (("--severity", "KV204"), "`KV204` has no severity: write `KV204=LEVEL` with error, "),
        (("--severity", "KV204=fatal"), "`KV204=fatal` has no severity"),
    ],
)
def test_wrong_codes_are_errors(written, kyvsim, options, text):
    status, _, err = kyvsim("lint", written("p.yaml", UNUSED), *options)
    assert (status, text in err) == (2, True)


CHOICES = """\
lint:
  ignore: [KV201, KV204]
  severity:
    KV3: info
    KV222: error
"""


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        ("", "", ""),
        ("KV201", "KW", ".kyvsim.yaml:2:12: error KV096: `ignore`: no diagnostic has a code"),
        ("KV204", "KW", ".kyvsim.yaml:2:19: error KV096: `ignore`: no diagnostic has a code"),
        ("error", "bad", ".kyvsim.yaml:5:5: error KV096: `severity`: `KV222=bad` has no severity"),
        ("KV3", "KV", ""),
        ("info", "[a]", ".kyvsim.yaml:4:5: error KV096: `severity`: `KV3=['a']` has no severity"),
    ],
)
def test_a_configuration_chooses_warnings(written, kyvsim, old, new, error):
    written(".kyvsim.yaml", CHOICES.replace(old, new, 1))
    status, _, err = kyvsim("lint", written("p.yaml", UNUSED), "--strict")
    assert (status, err.startswith(error)) == (2 if error else 0, True)


def test_a_wrong_choice_in_pyproject_has_its_position(written, kyvsim):
    written("pyproject.toml", '[tool.kyvsim.lint]\nignore = ["KV204", "KW"]\n')
    status, _, err = kyvsim("lint", written("p.yaml", UNUSED))
    assert (status, err.startswith("pyproject.toml:2:1: error KV096: `ignore`")) == (2, True)
