from kyvsim.kubernetes.objects import ObjectKey


def test_a_namespace_gets_an_account_and_a_certificate(admin, obj, put, run):
    put(obj("Namespace", "shop"))
    assert admin.get("v1", "ServiceAccount", "shop", "default")
    assert admin.get("v1", "ConfigMap", "shop", "kube-root-ca.crt")["data"]["ca.crt"]
    admin.delete(ObjectKey("v1", "ServiceAccount", "shop", "default"))
    run(1)
    assert admin.get("v1", "ServiceAccount", "shop", "default")


def test_a_changed_certificate_comes_back(admin, run):
    key = ObjectKey("v1", "ConfigMap", "default", "kube-root-ca.crt")
    before = admin.get(*key)["data"]
    admin.merge(key, {"data": {"ca.crt": "mine"}})
    run(1)
    assert admin.get(*key)["data"] == before
