from kyvsim.patch.keyed_lists import NOTHING_MERGES, find_type


def field(version, kind, *path):
    found = find_type(version, kind)
    for name in path:
        found = found.fields.get(name, NOTHING_MERGES)
    return found


def test_pod_lists_have_their_keys():
    container = ("spec", "containers")
    assert field("v1", "Pod", *container).keys == ("name",)
    assert field("v1", "Pod", *container, "env").keys == ("name",)
    assert field("v1", "Pod", *container, "ports").keys == ("containerPort", "protocol")
    assert field("v1", "Pod", *container, "volumeMounts").keys == ("mountPath",)
    assert field("v1", "Pod", "spec", "hostAliases").keys == ("ip",)


def test_lists_without_keys_are_replaced():
    for name in ("tolerations", "containers/args"):
        assert field("v1", "Pod", "spec", *name.split("/")).keys is None


def test_sets_of_scalars_have_no_key():
    assert field("v1", "ConfigMap", "metadata", "finalizers").keys == ()
    assert field("v1", "Node", "spec", "podCIDRs").keys == ()


def test_the_way_leads_through_templates():
    way = ("spec", "jobTemplate", "spec", "template", "spec", "initContainers")
    assert field("batch/v1", "CronJob", *way).keys == ("name",)
    assert field("apps/v1", "StatefulSet", "spec", "volumeClaimTemplates").keys is None


def test_the_schema_is_an_old_one():
    assert find_type("autoscaling/v2beta2", "HorizontalPodAutoscaler") is not None
    assert find_type("autoscaling/v2", "HorizontalPodAutoscaler") is None
    assert field("v1", "Pod", "spec", "resourceClaims").keys is None


def test_unknown_kinds():
    assert find_type("example.com/v1", "Pod") is None
    assert find_type("v1", "Widget") is None
