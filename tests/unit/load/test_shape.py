from kyvsim.load.shape import has_known_shape, shape_diagnostics
from kyvsim.model.source import Document, Location


def document(spec, api_version="kyverno.io/v1", kind="ClusterPolicy"):
    data = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "p"}, "spec": spec}
    return Document(data, "p.yaml", 0, lambda path: Location("/".join(map(str, path))))


def said(*arguments):
    found = shape_diagnostics(document(*arguments))
    return [(one.code, one.location.file) for one in found]


def test_a_place_is_told_once():
    rule = {"name": "r", "matsch": {}, "validate": {"message": 1}}
    assert said({"rules": [rule]}) == [
        ("KV012", "spec/rules/0/matsch"),
        ("KV013", "spec/rules/0/validate/message"),
        ("KV015", "spec/rules/0"),
    ]


def test_the_crd_adds_what_apply_does_not_check():
    assert said({"webhookTimeoutSeconds": 1 << 40, "rules": []}) == [
        ("KV016", "spec/webhookTimeoutSeconds")
    ]


def test_kinds_that_apply_does_not_evaluate():
    spec = {"generate": [{"expression": "a", "template": {}}]}
    assert ("KV017", "spec/generate/0") in said(spec, "policies.kyverno.io/v1", "GeneratingPolicy")


def test_known_shapes():
    assert has_known_shape(document({}))
    assert not has_known_shape(document({}, "v1", "Pod"))
    assert not has_known_shape(document({})._replace(data=[]))
