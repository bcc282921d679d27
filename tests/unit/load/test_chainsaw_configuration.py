"""Chainsaw's Configuration, found and read from files."""

import pytest

from kyvsim.load.chainsaw import find_configuration, read_configuration, read_tests

HEAD = "apiVersion: chainsaw.kyverno.io/{}\nkind: Configuration\nmetadata: {{name: c}}\nspec:\n"
TEST = "apiVersion: chainsaw.kyverno.io/v1alpha1\nkind: Test\nmetadata: {name: it}\nspec:\n"


@pytest.fixture
def read(tmp_path):
    """Return what reads a configuration from the text of its `spec`."""

    def from_text(spec, version="v1alpha2"):
        file = tmp_path / ".chainsaw.yaml"
        file.write_text(HEAD.format(version) + spec)
        return read_configuration(str(file))

    return from_text


LATER = """\
  cleanup: {skipDelete: true, delayBeforeCleanup: 3s}
  deletion: {propagation: Foreground}
  discovery: {testFile: story, fullName: true}
  error: {catch: [{events: {}}]}
  execution: {failFast: true, forceTerminationGracePeriod: 5s}
  namespace: {name: own, template: {metadata: {labels: {a: b}}}, fastDelete: true}
  templating: {enabled: false}
  timeouts: {apply: 10s}
"""
EARLIER = """\
  skipDelete: true
  delayBeforeCleanup: 3s
  deletionPropagationPolicy: Foreground
  testFile: story
  catch: [{events: {}}]
  forceTerminationGracePeriod: 5s
  namespace: own
  namespaceTemplate: {metadata: {labels: {a: b}}}
  template: false
  timeouts: {apply: 10s}
"""


@pytest.mark.parametrize(("version", "spec"), [("v1alpha2", LATER), ("v1alpha1", EARLIER)])
def test_both_versions_say_the_same(version, spec, read):
    found, remarks = read(spec, version)
    assert not remarks
    assert (found.keeps, found.delay, found.propagation) == (True, 3, "Foreground")
    assert (found.test_file, found.template, found.grace_period) == ("story", False, 5)
    assert (found.namespace, found.namespace_template["metadata"]) == (
        "own",
        {"labels": {"a": "b"}},
    )
    assert [one.kind for one in found.catch] == ["events"]
    assert (found.timeouts.apply, found.timeouts.check) == (10, 120)


def test_test_has_what_the_configuration_says_unless_it_says_otherwise(read, tmp_path):
    configuration, _ = read(LATER)
    file = tmp_path / "t.yaml"
    file.write_text(f"{TEST}  steps: [{{try: [{{events: {{}}}}]}}]\n")
    ((test,), _) = read_tests(str(file), configuration)
    assert (test.template, test.namespace, test.timeouts.apply) == (False, "own", 10)
    assert (test.keeps, test.delay, test.propagation, len(test.catch)) == (True, 3, "Foreground", 1)
    file.write_text(
        f"{TEST}  template: true\n  timeouts: {{apply: 1s}}\n  namespace: other\n"
        "  skipDelete: false\n  steps: [{try: [{events: {}}]}]\n"
    )
    ((test,), _) = read_tests(str(file), configuration)
    assert (test.template, test.namespace, test.timeouts.apply) == (True, "other", 1)
    assert not test.keeps


def test_another_language_makes_every_operation_foreign(read, tmp_path):
    configuration, _ = read("  templating: {compiler: cel}\n")
    file = tmp_path / "t.yaml"
    file.write_text(f"{TEST}  steps: [{{try: [{{events: {{}}}}]}}]\n")
    ((test,), _) = read_tests(str(file), configuration)
    assert test.steps[0].attempts[0].foreign == "expressions of the language `cel`"


@pytest.mark.parametrize(
    ("spec", "code", "message"),
    [
        ("  templatng: {enabled: false}\n", "KV012", "did you mean `templating`?"),
        ("  timeouts: {apply: soon}\n", "KV016", "`spec.timeouts.apply`: `soon` does not fit"),
        ("  templating: {enabled: 'no'}\n", "KV013", "must be a boolean, not text"),
    ],
)
def test_configuration_that_cannot_be_used_is_told(spec, code, message, read):
    found, (problem,) = read(spec)
    assert found is None
    assert problem.code == code
    assert message in problem.message


def test_document_of_another_kind_is_told(tmp_path):
    file = tmp_path / "c.yaml"
    file.write_text("apiVersion: v1\nkind: ConfigMap\n")
    found, (problem,) = read_configuration(str(file))
    assert found is None
    assert (problem.code, problem.message) == (
        "KV063",
        "a chainsaw Configuration is wanted here, this is `v1/ConfigMap`",
    )


def test_choice_of_tests_is_told_not_to_be_made(read):
    found, (problem,) = read("  discovery: {excludeTestRegex: slow}\n")
    assert found is not None
    assert (problem.code, problem.severity.value) == ("KV064", "warning")
    assert problem.message == "`excludeTestRegex` is not read: all tests of the folders given run"


def test_working_folder_counts_before_the_folders_of_the_tests(tmp_path, monkeypatch):
    inner = tmp_path / "suite" / "case"
    inner.mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    assert find_configuration("suite/case") == ""
    (tmp_path / "suite" / ".chainsaw.yaml").write_text("")
    assert find_configuration("suite/case") == "suite/.chainsaw.yaml"
    assert find_configuration("suite/case/chainsaw-test.yaml") == "suite/.chainsaw.yaml"
    (tmp_path / ".chainsaw.yaml").write_text("")
    assert find_configuration("suite/case") == ".chainsaw.yaml"
