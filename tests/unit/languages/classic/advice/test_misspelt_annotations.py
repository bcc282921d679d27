import pytest

from kyvsim.api.lint import lint, plan_fixes

POLICY = """\
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata:
  name: p
  annotations:
    ANNOTATION: x
spec:
  rules:
  - name: a
    match: {any: [{resources: {kinds: [Service]}}]}
    validate: {message: m, pattern: {metadata: {name: "?*"}}}
"""


def found(tmp_path, annotation):
    path = tmp_path / "p.yaml"
    path.write_text(POLICY.replace("ANNOTATION", annotation), encoding="utf-8")
    return lint([str(path)])


@pytest.mark.parametrize(
    ("written", "meant", "is_fixed"),
    [
        ("policies.kyverno.io/titel", "policies.kyverno.io/title", True),
        ("policy.kyverno.io/category", "policies.kyverno.io/category", True),
        ("policies.kyverno.io/Severity", "policies.kyverno.io/severity", True),
        (
            "pod-policies.kyverno.io/autogen-controller",
            "pod-policies.kyverno.io/autogen-controllers",
            False,
        ),
        ("policies.kyverno.io/score", "policies.kyverno.io/scored", False),
    ],
)
def test_a_slip_is_told_and_fixed_where_nothing_is_judged_by_it(tmp_path, written, meant, is_fixed):
    told = found(tmp_path, written)
    (one,) = [each for each in told.diagnostics if each.code == "KV224"]
    assert one.message.endswith(f"did you mean `{meant}`?")
    assert (one.fix is not None) is is_fixed
    if is_fixed and "everity" not in written:
        (file,) = plan_fixes(told)
        assert file.text == POLICY.replace("ANNOTATION", meant)


@pytest.mark.parametrize(
    "written",
    [
        "policies.kyverno.io/title",
        "policies.kyverno.io/other",
        "kyverno.io/foo",
        "example.com/titel",
    ],
)
def test_what_is_known_or_meant_otherwise_is_left_alone(tmp_path, written):
    assert not [one for one in found(tmp_path, written).diagnostics if one.code == "KV224"]
