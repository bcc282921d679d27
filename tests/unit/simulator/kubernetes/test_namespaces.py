from kyvsim.kubernetes.objects import ObjectKey


def test_a_namespace_takes_its_contents_along(cluster, admin, obj, put, run, told):
    put(obj("Namespace", "shop"), obj("ConfigMap", "a", "shop"))
    admin.delete(ObjectKey("v1", "Namespace", "", "shop"))
    assert admin.get("v1", "Namespace", "", "shop")["status"]["phase"] == "Terminating"
    error = admin.create(obj("ConfigMap", "b", "shop")).error
    assert error.message.endswith("in namespace shop because it is being terminated")
    run(1)
    assert admin.get("v1", "Namespace", "", "shop") is None
    assert not [one for one in cluster.sim.store.every() if _place(one) == "shop"]
    assert ("delete", "done", "") in told("namespace-controller")


def test_a_namespace_waits_for_what_a_finalizer_holds(admin, obj, put, run):
    held = {"finalizers": ["example.com/hold"]}
    put(obj("Namespace", "shop"), obj("ConfigMap", "a", "shop", metadata=held))
    admin.delete(ObjectKey("v1", "Namespace", "", "shop"))
    run(1)
    assert admin.get("v1", "Namespace", "", "shop")["status"]["phase"] == "Terminating"
    admin.merge(ObjectKey("v1", "ConfigMap", "shop", "a"), {"metadata": {"finalizers": None}})
    run(1)
    assert admin.get("v1", "Namespace", "", "shop") is None


def test_a_policy_may_keep_a_namespace_from_going(admin, obj, cluster_policy, put, run):
    match = {"any": [{"resources": {"kinds": ["ConfigMap"], "names": ["kept"]}}]}
    deny = {"conditions": {"any": [_deletion()]}}
    rule = {"match": match, "validate": {"failureAction": "Enforce", "message": "no", "deny": deny}}
    put(cluster_policy("keep", rule), obj("Namespace", "shop"), obj("ConfigMap", "kept", "shop"))
    admin.delete(ObjectKey("v1", "Namespace", "", "shop"))
    run(20)
    assert admin.get("v1", "ConfigMap", "shop", "kept")
    admin.delete(ObjectKey("kyverno.io/v1", "ClusterPolicy", "", "keep"))
    run(60)
    assert admin.get("v1", "Namespace", "", "shop") is None


def _deletion():
    return {"key": "{{ request.operation }}", "operator": "Equals", "value": "DELETE"}


def _place(obj):
    return obj["metadata"].get("namespace")
