"""Hazards of the cluster itself: rights that lack, kinds that nothing enforces."""

from kyvsim.model.installation import CI

COPY = """
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: copy}
spec:
  rules:
  - name: regcred
    match: {any: [{resources: {kinds: [Namespace]}}]}
    generate:
      apiVersion: v1
      kind: Secret
      name: regcred
      namespace: "{{request.object.metadata.name}}"
      synchronize: true
      clone: {namespace: default, name: regcred}
"""


def test_a_policy_that_lacks_rights_comes_with_the_roles_that_give_them(run, obj):
    simulation = run(COPY, obj("Namespace", "shop"), refused=True)
    (hazard,) = [one for one in simulation.hazards if one.code == "KH015"]
    assert hazard.policies == ("copy",)
    assert [one["rules"][0]["verbs"] for one in hazard.manifests] == [
        ["get", "list"],
        ["get", "create", "update", "delete"],
    ]
    again = run(
        COPY,
        obj("Namespace", "shop"),
        objects=[*hazard.manifests, obj("Secret", "regcred", "default")],
    )
    assert not [one for one in again.hazards if one.code == "KH015"]
    made = [one["metadata"]["namespace"] for one in again.objects if one["kind"] == "Secret"]
    assert made == ["default", "shop"]


def test_the_installation_of_the_tests_has_the_rights(run, obj):
    simulation = run(COPY, obj("Namespace", "shop"), installation=CI)
    assert not [one for one in simulation.hazards if one.code == "KH015"]


def test_kinds_that_nothing_enforces_are_told_once_each(run, obj):
    quotas = [obj("ResourceQuota", name, "default", spec={}) for name in ("a", "b")]
    simulation = run([], *quotas, obj("ConfigMap", "m", "default"))
    (hazard,) = [one for one in simulation.hazards if one.code == "KH016"]
    assert [one.name for one in hazard.objects] == ["a", "b"]
    assert hazard.level == "warning"
    assert not [one for one in run([], obj("ConfigMap", "m")).hazards if one.code == "KH016"]
