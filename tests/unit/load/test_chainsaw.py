"""Chainsaw tests and configurations."""

import pytest

from kyvsim.load.chainsaw import find_configuration, find_tests, read_configuration, read_tests
from kyvsim.load.chainsaw_files import ReachableFiles, place_of, read_objects

# Chainsaw tests and step templates, read from files.

HEAD = "apiVersion: chainsaw.kyverno.io/v1alpha1\nkind: {}\nmetadata:\n  name: it\nspec:\n"


@pytest.fixture
def read(tmp_path):
    """Return what reads a test from the text of its `spec`, beside further files."""

    def from_text(spec, kind="Test", **files):
        for name, text in files.items():
            (tmp_path / f"{name}.yaml").write_text(text)
        file = tmp_path / "chainsaw-test.yaml"
        file.write_text(HEAD.format(kind) + spec)
        return read_tests(str(file))

    return from_text


def test_steps_and_operations_keep_their_order_and_places(read):
    (test,), problems = read("""\
  namespace: own
  timeouts: {apply: 1m, assert: 90s}
  steps:
  - name: first
    timeouts: {error: 2s}
    try:
    - create: {file: a.yaml}
      continueOnError: true
    - sleep: {duration: 1s}
      description: why
    catch:
    - events: {}
    finally:
    - delete: {file: a.yaml}
    cleanup:
    - script: {content: "true"}
""")
    assert not problems
    assert (test.name, test.namespace, test.template, test.skip) == ("it", "own", None, False)
    assert (test.timeouts.apply, test.timeouts.check, test.timeouts.delete) == (60, 90, 120)
    (step,) = test.steps
    assert [one.kind for one in step.attempts] == ["create", "sleep"]
    assert str(step.attempts[1].location).endswith("chainsaw-test.yaml:14:7")
    assert ([one.kind for one in step.catch], step.attempts[0].continues) == (["events"], True)
    assert (step.cleanup[0].kind, dict(step.timeouts)) == ("script", {"error": 2})


def test_step_template_gives_its_operations_and_default_bindings(read):
    template = HEAD.format("StepTemplate") + (
        "  bindings: [{name: file, value: none}, {name: other, value: kept}]\n"
        "  try: [{create: {file: ($file)}}]\n"
    )
    (test,), problems = read(
        """\
  steps:
  - use:
      template: /..//TEMPLATE
      with: {bindings: [{name: file, value: a.yaml}]}
""".replace("/..//TEMPLATE", "/.//template.yaml"),
        template=template,
    )
    assert not problems
    (step,) = test.steps
    assert step.attempts[0].spec == {"file": "($file)"}
    assert [(one.name, one.value) for one in step.bindings] == [
        ("file", "a.yaml"),
        ("other", "kept"),
    ]


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("a.yaml", "/t/x/a.yaml"),
        ("../a.yaml", "/t/a.yaml"),
        ("..//../a.yaml", "/a.yaml"),
        ("/../a.yaml", "/t/a.yaml"),
    ],
)
def test_odd_paths_begin_at_the_folder_of_the_test(name, path):
    assert place_of("/t/x", name) == path


@pytest.mark.parametrize(
    ("spec", "code", "message", "line"),
    [
        ("  steps: {a: b}\n", "KV013", "`spec.steps` must be a list, not a mapping", 6),
        (
            "  steps:\n  - name: a\n    try: x\n",
            "KV013",
            "`spec.steps[0].try` must be a list, not text",
            8,
        ),
        (
            "  steps:\n  - try:\n    - 1\n",
            "KV013",
            "`spec.steps[0].try[0]` must be a mapping, not a whole number",
            8,
        ),
        (
            "  steps:\n  - try:\n    - {apply: {file: a}, sleep: {duration: 1s}}\n",
            "KV017",
            "`spec.steps[0].try[0]` must have exactly one of `apply`, `assert`, ",
            8,
        ),
        (
            "  steps: [{try: [{events: {}}]}]\n  timeouts:\n    apply: soon\n",
            "KV016",
            "`spec.timeouts.apply`: `soon` does not match ",
            8,
        ),
        (
            "  steps:\n  - use:\n      template: gone.yaml\n",
            "KV061",
            "template `gone.yaml`: ",
            8,
        ),
        (
            "  steps:\n  - use: {template: chainsaw-test.yaml}\n",
            "KV061",
            "is not a StepTemplate",
            7,
        ),
        (
            "  steps:\n  - tryy:\n    - events: {}\n",
            "KV012",
            "unknown field `spec.steps[0].tryy`: did you mean `try`?",
            7,
        ),
        (
            "  steps:\n  - try:\n    - apply: {file: a, timeouts: 1s}\n",
            "KV012",
            "unknown field `spec.steps[0].try[0].apply.timeouts`: did you mean `timeout`?",
            8,
        ),
        (
            "  steps:\n  - try: [{delete: {}}]\n",
            "KV017",
            "`spec.steps[0].try[0].delete` must have exactly one of `file`, `ref`",
            7,
        ),
        (
            "  steps:\n  - try: [{sleep: {}}]\n",
            "KV015",
            "`spec.steps[0].try[0].sleep.duration` is required",
            7,
        ),
        ("  {}\n", "KV015", "`spec.steps` is required", 5),
        ("  steps: []\n", "KV062", "a test without a step tests nothing", 6),
        (
            "  steps:\n  - name: a\n",
            "KV062",
            "a step without an operation tests nothing",
            7,
        ),
        (
            "  steps:\n  - try: []\n",
            "KV062",
            "a step without an operation tests nothing",
            7,
        ),
    ],
)
def test_what_cannot_be_read_is_told_with_its_place(spec, code, message, line, read):
    tests, (problem,) = read(spec)
    assert not tests
    assert message in problem.message
    assert (problem.code, problem.location.line) == (code, line)


def test_misspelt_step_is_told_with_the_step_that_is_missing(read):
    tests, problems = read("  step: [{try: [{events: {}}]}]\n")
    assert not tests
    assert [one.message for one in problems] == [
        "unknown field `spec.step`: did you mean `steps`?",
        "`spec.steps` is required",
    ]


def test_step_template_is_read_as_strictly(read):
    template = HEAD.format("StepTemplate") + "  try: [{sleep: {duratoin: 1s}}]\n"
    tests, problems = read("  steps: [{use: {template: template.yaml}}]\n", template=template)
    assert not tests
    assert problems[0].message == (
        "unknown field `spec.try[0].sleep.duratoin`: did you mean `duration`?"
    )
    assert str(problems[0].location).endswith("template.yaml:6:18")


def test_key_that_stands_twice_is_an_error(read):
    tests, (problem,) = read("  steps: [{try: [{events: {}}]}]\n  steps: []\n")
    assert not tests
    assert problem.code == "KV006"


def test_each_scenario_is_a_test_with_its_bindings_before_those_of_the_test(read):
    tests, problems = read("""\
  bindings: [{name: both, value: ($one)}]
  scenarios:
  - bindings: [{name: one, value: a}]
  - bindings: [{name: one, value: b}]
  steps: [{try: [{events: {}}]}]
""")
    assert not problems
    assert [one.scenario for one in tests] == [1, 2]
    assert [one.bindings[0].value for one in tests] == ["a", "b"]
    assert tests[1].bindings[1].name == "both"


@pytest.mark.parametrize(
    ("steps", "told"),
    [
        ("[{cluster: far, try: [{sleep: {duration: 1s}}]}]", "the cluster `far`"),
        ("[{try: [{get: {apiVersion: v1, kind: Pod, cluster: far}}]}]", "the cluster `far`"),
        ("[{try: [{compiler: cel, sleep: {duration: 1s}}]}]", "the language `cel`"),
    ],
)
def test_operation_knows_what_no_simulated_cluster_has(steps, told, read):
    (test,), _ = read(f"  steps: {steps}\n")
    assert told in test.steps[0].attempts[0].foreign


def test_document_of_another_kind_is_told(read):
    tests, (problem,) = read("  steps: []\n", kind="Scenario")
    assert not tests
    assert problem.message == (
        "a chainsaw Test of `chainsaw.kyverno.io/v1alpha1` is expected here, "
        "this is `Scenario` of `chainsaw.kyverno.io/v1alpha1`"
    )


def test_files_of_operations_give_objects_or_a_reason(tmp_path):
    (tmp_path / "a.yaml").write_text("a: 1\n---\na: 2.5\n")
    assert read_objects(str(tmp_path / "a.yaml")) == (({"a": 1}, {"a": 2.5}), "")
    found, why = read_objects(str(tmp_path / "b.yaml"))
    assert not found
    assert "b.yaml" in why


def test_script_files_are_read_as_text(tmp_path):
    (tmp_path / "a.sh").write_text("#!/bin/sh\n")
    files = ReachableFiles(str(tmp_path), str(tmp_path))
    assert files.text("a.sh") == "#!/bin/sh\n"
    assert files.text("b.sh") is None


def test_tests_are_found_below_a_folder_or_in_it_only(tmp_path):
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (inner / "test.yaml").write_text("")
    assert find_tests(str(tmp_path), "test.yaml", deep=True) == ((str(inner / "test.yaml"),), ())
    found, (problem,) = find_tests(str(tmp_path), "test.yaml", deep=False)
    assert (found, problem.code) == ((), "KV060")
    assert find_tests(str(inner), "test.yaml", deep=False)[0] == (str(inner / "test.yaml"),)


TEMPLATE = HEAD.format("StepTemplate") + "  try: [{sleep: {duration: 1s}}]\n"


@pytest.mark.parametrize(
    ("name", "code", "told"),
    [
        ("/proc/../../../../../../../../proc/self/environ", "KV066", "is not read"),
        ("../../../../../../../../../etc/passwd", "KV066", "a step template is a YAML file"),
        ('"a\\0b.yaml"', "KV066", "is not read"),
        ("../outside/secret.yaml", "KV061", "is not a StepTemplate"),
        ("../outside/broken.yaml", "KV061", "is not a StepTemplate"),
        ("link.yaml", "KV061", "is not a StepTemplate"),
        ("../outside", "KV066", "is not read"),
        ("../outside/*.yaml", "KV061", "there is no such file"),
    ],
)
def test_step_templates_show_nothing_of_other_files(tmp_path, name, code, told):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret.yaml").write_text("password: s3cret\n")
    (tmp_path / "outside/broken.yaml").write_text("password: [s3cret\n")
    folder = tmp_path / "test"
    folder.mkdir()
    (folder / "link.yaml").symlink_to("../outside/broken.yaml")
    file = folder / "chainsaw-test.yaml"
    file.write_text(HEAD.format("Test") + f"  steps: [{{use: {{template: {name}}}}}]\n")
    tests, (problem,) = read_tests(str(file))
    assert (tests, problem.code) == ((), code)
    assert told in problem.message
    assert "s3cret" not in str(problem)
    assert "password" not in str(problem)


def test_step_templates_are_shared_from_folders_above(tmp_path):
    folder = tmp_path / "a" / "b"
    folder.mkdir(parents=True)
    (tmp_path / "step.yaml").write_text(TEMPLATE)
    file = folder / "chainsaw-test.yaml"
    file.write_text(HEAD.format("Test") + "  steps: [{use: {template: ../../step.yaml}}]\n")
    (test,), problems = read_tests(str(file))
    assert not problems
    assert test.steps[0].attempts[0].kind == "sleep"


# Chainsaw's Configuration, found and read from files.

CHAINSAW_CONFIGURATION_HEAD = (
    "apiVersion: chainsaw.kyverno.io/{}\nkind: Configuration\nmetadata: {{name: c}}\nspec:\n"
)
TEST = "apiVersion: chainsaw.kyverno.io/v1alpha1\nkind: Test\nmetadata: {name: it}\nspec:\n"


@pytest.fixture
def chainsaw_configuration_read(tmp_path):
    """Return what reads a configuration from the text of its `spec`."""

    def from_text(spec, version="v1alpha2"):
        file = tmp_path / ".chainsaw.yaml"
        file.write_text(CHAINSAW_CONFIGURATION_HEAD.format(version) + spec)
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
def test_both_versions_say_the_same(version, spec, chainsaw_configuration_read):
    found, remarks = chainsaw_configuration_read(spec, version)
    assert not remarks
    assert (found.keeps, found.delay, found.propagation) == (True, 3, "Foreground")
    assert (found.test_file, found.template, found.grace_period) == ("story", False, 5)
    assert (found.namespace, found.namespace_template["metadata"]) == (
        "own",
        {"labels": {"a": "b"}},
    )
    assert [one.kind for one in found.catch] == ["events"]
    assert (found.timeouts.apply, found.timeouts.check) == (10, 120)


def test_test_has_what_the_configuration_says_unless_it_says_otherwise(
    chainsaw_configuration_read, tmp_path
):
    configuration, _ = chainsaw_configuration_read(LATER)
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


def test_another_language_makes_every_operation_foreign(chainsaw_configuration_read, tmp_path):
    configuration, _ = chainsaw_configuration_read("  templating: {compiler: cel}\n")
    file = tmp_path / "t.yaml"
    file.write_text(f"{TEST}  steps: [{{try: [{{events: {{}}}}]}}]\n")
    ((test,), _) = read_tests(str(file), configuration)
    assert test.steps[0].attempts[0].foreign == "expressions of the language `cel`"


@pytest.mark.parametrize(
    ("spec", "code", "message"),
    [
        ("  templatng: {enabled: false}\n", "KV012", "did you mean `templating`?"),
        ("  timeouts: {apply: soon}\n", "KV016", "`spec.timeouts.apply`: `soon` does not match"),
        ("  templating: {enabled: 'no'}\n", "KV013", "must be a boolean, not text"),
    ],
)
def test_configuration_that_cannot_be_used_is_told(
    spec, code, message, chainsaw_configuration_read
):
    found, (problem,) = chainsaw_configuration_read(spec)
    assert found is None
    assert problem.code == code
    assert message in problem.message


def test_document_of_another_kind_is_told_of_chainsaw_configuration(tmp_path):
    file = tmp_path / "c.yaml"
    file.write_text("apiVersion: v1\nkind: ConfigMap\n")
    found, (problem,) = read_configuration(str(file))
    assert found is None
    assert (problem.code, problem.message) == (
        "KV063",
        "expected a chainsaw Configuration, found `v1/ConfigMap`",
    )


def test_choice_of_tests_is_told_not_to_be_made(chainsaw_configuration_read):
    found, (problem,) = chainsaw_configuration_read("  discovery: {excludeTestRegex: slow}\n")
    assert found is not None
    assert (problem.code, problem.severity.value) == ("KV064", "warning")
    assert (
        problem.message == "`excludeTestRegex` is ignored: all tests in the given folders are run"
    )


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
