"""How Kyverno is installed, by name or by values."""

import pytest

from kyvsim.load.scenario import load_installation


@pytest.fixture
def load(tmp_path):
    """Return what reads a file of values, and tells what is wrong with it."""

    def read(text):
        file = tmp_path / "values.yaml"
        file.write_text(text)
        found, remarks = load_installation(str(file))
        return found, [(one.code, one.message) for one in remarks]

    return read


@pytest.mark.parametrize("name", ["helm", "ci"])
def test_installations_have_names(name):
    found, remarks = load_installation(name)
    assert (found.name, remarks) == (name, ())


def test_values_are_those_of_the_file(load):
    found, remarks = load("features: {policyExceptions: {enabled: true, namespace: x}}\n")
    assert remarks == []
    assert found.exceptions_namespace == "x"
    assert found.name.endswith("values.yaml")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "a file of values for Kyverno's Helm chart is one map"),
        ("{}\n---\n{}", "a file of values for Kyverno's Helm chart is one map"),
        (
            "{apiVersion: v1, kind: ConfigMap}",
            "this is an object and no file of values for Kyverno's Helm chart",
        ),
        (
            "features: {policyExceptions: {enabled: 'true'}}",
            "`features.policyExceptions.enabled` must be true or false",
        ),
        ("features: [policyExceptions]", "`features` must be a map"),
        ("config: {excludeGroups: dev}", "`config.excludeGroups` must be a list"),
        (
            "backgroundController: {rbac: {clusterRole: {extraResources: {}}}}",
            "`backgroundController.rbac.clusterRole.extraResources` must be a list",
        ),
    ],
)
def test_what_the_chart_could_not_read_is_an_error(load, text, message):
    found, remarks = load(text)
    assert found is None
    assert remarks == [("KV053", message)]


def test_a_name_that_is_neither_is_told_with_the_likely_one():
    found, (remark,) = load_installation("hlem")
    assert found is None
    assert remark.code == "KV053"
    assert remark.message.endswith("did you mean `helm`?")


@pytest.mark.parametrize(
    "path",
    [
        "features.backgroundScan.enabled",
        "config.matchConditions.a",
        "features.reporting.validate",
        "nameOverride",
        "admissionController.container.extraArgs.maxQueuedEvents",
        "backgroundController.rbac.create",
    ],
)
def test_what_is_not_simulated_is_told(load, path):
    *outer, last = path.split(".")
    text = "".join(f"{{{name}: " for name in outer) + f"{{{last}: false}}" + "}" * len(outer)
    found, remarks = load(text.replace("false", "kyv") if path == "nameOverride" else text)
    assert found is not None
    ((code, message),) = remarks
    assert code == "KV054"
    assert "is not simulated" in message


@pytest.mark.parametrize(
    "name",
    [
        "validatingAdmissionPolicyReports",
        "mutatingAdmissionPolicyReports",
        "generateValidatingAdmissionPolicy",
        "generateMutatingAdmissionPolicy",
    ],
)
def test_what_is_made_of_admission_policies_and_told_of_them_counts(load, name):
    found, remarks = load(f"{{features: {{{name}: {{enabled: false}}}}}}")
    assert remarks == []
    assert found.value("features", name, "enabled") is False
    found, ((code, _),) = load(f"{{features: {{{name}: {{enabled: 'no'}}}}}}")
    assert (found, code) == (None, "KV053")


def test_what_changes_nothing_here_is_passed_over(load):
    text = "{grafana: {enabled: true}, admissionController: {replicas: 3, extraArgs: {v: 4}}}"
    assert load(text)[1] == []
