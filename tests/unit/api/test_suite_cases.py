from pathlib import Path

import pytest

from kyvsim.api.suite import SuiteRun, open_manifest, read_cases, run_tests

FIXTURES = Path(__file__).parents[3] / "fixtures/tests"
NAMES = sorted(path.name for path in FIXTURES.iterdir())
HEAD = "apiVersion: cli.kyverno.io/v1alpha1\nkind: Test\nmetadata: {name: t}\n"


@pytest.mark.parametrize("name", NAMES)
def test_cases_come_to_the_same_as_the_command_in_any_order(name):
    file = str(FIXTURES / name / "kyverno-test.yaml")
    (whole,) = run_tests(SuiteRun((file,))).manifests
    ((manifest, cases),) = read_cases(file).manifests
    opened = open_manifest(manifest)
    assert opened.diagnostics == whole.diagnostics
    found = [opened.check(case.row) for case in reversed(cases)]
    assert all(found)
    assert tuple(one for outcomes in reversed(found) for one in outcomes) == whole.rows


@pytest.fixture
def names(tmp_path):
    """Return a function that returns the names of cases that a manifest's rows have."""

    def of(rows):
        file = tmp_path / "kyverno-test.yaml"
        file.write_text(f"{HEAD}results:\n{rows}")
        found = read_cases(str(file))
        assert [str(one) for one in found.diagnostics] == []
        return [case.name for _, cases in found.manifests for case in cases]

    return of


SPECS = "resourceSpecs: [{version: v1, kind: Pod, name: x}, {kind: Job, namespace: ns, name: z}]"


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ("policy: p, rule: r, resources: [a, ns/b]", ["p/r/a", "p/r/ns/b"]),
        ("policy: ns/p, resources: [a]", ["ns/p/*/a"]),
        ("policy: p, rule: r", ["p/r/*"]),
        ("policy: p, rule: r, resources: []", ["p/r/*"]),
        (f"policy: p, rule: r, {SPECS}", ["p/r/v1/Pod/x", "p/r/Job/ns/z"]),
        (f"policy: p, rule: r, resources: [a], {SPECS}", ["p/r/a", "p/r/v1/Pod/x", "p/r/Job/ns/z"]),
        ("policy: p, rule: r, resources: [a, b], generatedResource: x.yaml", ["p/r/a", "p/r/b"]),
        ("policy: p, rule: r, resources: [a, b], generatedResources: [x, z]", ["p/r/a,b"]),
    ],
)
def test_a_row_has_a_case_for_each_resource_that_it_names(names, row, expected):
    assert names(f"- {{{row}, result: pass}}\n") == expected


def test_a_manifest_without_rows_is_told(tmp_path):
    file = tmp_path / "kyverno-test.yaml"
    file.write_text(HEAD)
    found = read_cases(str(file))
    assert [cases for _, cases in found.manifests] == [()]
    assert [one.code for one in found.diagnostics] == ["KV042"]


def test_a_manifest_whose_values_cannot_be_read_has_no_check(tmp_path):
    file = tmp_path / "kyverno-test.yaml"
    file.write_text(f"{HEAD}variables: nowhere.yaml\nresults: [{{policy: p, result: pass}}]\n")
    ((manifest, _),) = read_cases(str(file)).manifests
    opened = open_manifest(manifest)
    assert opened.check is None
    assert opened.diagnostics
