"""Admission policies that Kyverno generates from ClusterPolicies with a rule in CEL."""

import pytest

from kyvsim.kubernetes.objects import ObjectKey
from kyvsim.model.simulation import Installation
from kyvsim.policy.tree import ResourceFilter
from kyvsim.simulator.api_server.server import ADMIN

NATIVE = "admissionregistration.k8s.io/v1"
SKIPPED = "skip generating ValidatingAdmissionPolicy"
TEAM = {
    "expression": "has(object.metadata.labels) && 'team' in object.metadata.labels",
    "message": "team is missing",
}
BY_SERVER = (
    "deployments.apps \"web\" is forbidden: ValidatingAdmissionPolicy 'cpol-team' with binding "
    "'cpol-team-binding' denied request: team is missing"
)


def match(*resources, **more):
    return {"any": [{"resources": one, **more} for one in resources]}


DEPLOYMENTS = match({"kinds": ["Deployment"], "operations": ["CREATE", "UPDATE"]})


@pytest.fixture
def policy(cluster_policy):
    def make(*more, match=DEPLOYMENTS, cel=None, spec=None, **rule):
        body = {"generate": True, "expressions": [TEAM], **(cel or {})}
        validate = {"failureAction": "Enforce", "cel": body, **rule.pop("validate", {})}
        written = {"match": match, "validate": validate, **rule}
        return cluster_policy("team", written, *more, **(spec or {}))

    return make


@pytest.fixture
def exception(obj):
    def make(*resources, rules=("rule-0",), **spec):
        excepted = [{"policyName": "team", "ruleNames": list(rules)}]
        spec = {"exceptions": excepted, "match": match(*resources), **spec}
        return obj("PolicyException", "x", "default", api_version="kyverno.io/v2", spec=spec)

    return make


@pytest.fixture
def stored(cluster):
    def find(kind="ValidatingAdmissionPolicy", name="cpol-team", api_version=NATIVE):
        return cluster.sim.store.get(api_version, kind, "", name)

    return find


@pytest.fixture
def said(stored):
    def read():
        status = stored("ClusterPolicy", "team", "kyverno.io/v1")["status"]
        made = status["validatingadmissionpolicy"]
        return made["generated"], made["message"]

    return read


@pytest.fixture
def webhooks(stored):
    def read():
        name = "kyverno-resource-validating-webhook-cfg"
        found = stored("ValidatingWebhookConfiguration", name)
        return [one["name"] for one in found.get("webhooks") or ()]

    return read


def test_the_api_server_decides_in_place_of_the_webhook(
    put, admin, policy, deployment, webhooks, said
):
    put(policy())
    assert said() == (True, "")
    assert webhooks() == []
    assert admin.create(deployment()).error.message == BY_SERVER


def test_it_has_what_the_rule_says(put, stored, policy):
    conditions = [{"name": "new", "expression": "oldObject == null"}]
    variables = [{"name": "v", "expression": "1"}]
    notes = [{"key": "k", "valueExpression": "'v'"}]
    config = {"apiVersion": "v1", "kind": "ConfigMap"}
    where = {"name": "c", "parameterNotFoundAction": "Deny"}
    put(
        policy(
            celPreconditions=conditions,
            cel={
                "variables": variables,
                "auditAnnotations": notes,
                "paramKind": config,
                "paramRef": where,
            },
        )
    )
    made = stored()
    assert made["metadata"]["labels"] == {"app.kubernetes.io/managed-by": "kyverno"}
    (owner,) = made["metadata"]["ownerReferences"]
    assert (owner["apiVersion"], owner["kind"]) == ("kyverno.io/v1", "ClusterPolicy")
    spec = made["spec"]
    assert spec["matchConditions"] == conditions
    assert spec["variables"] == variables
    assert spec["auditAnnotations"] == notes
    assert spec["paramKind"] == config
    assert spec["validations"] == [TEAM]
    assert stored("ValidatingAdmissionPolicyBinding", "cpol-team-binding")["spec"] == {
        "policyName": "cpol-team",
        "paramRef": where,
        "validationActions": ["Deny"],
    }


@pytest.mark.parametrize(
    ("spec", "validate", "actions"),
    [
        ({"validationFailureAction": "Enforce"}, {"failureAction": None}, ["Deny"]),
        ({"validationFailureAction": "Enforce"}, {"failureAction": "Audit"}, ["Audit", "Warn"]),
        ({}, {"failureAction": None}, ["Audit", "Warn"]),
    ],
)
def test_its_binding_acts_as_failures_do(put, stored, policy, spec, validate, actions):
    put(policy(spec=spec, validate=validate))
    binding = stored("ValidatingAdmissionPolicyBinding", "cpol-team-binding")
    assert binding["spec"]["validationActions"] == actions


def rule(resources, *, groups=("apps",), operations=("CREATE",), **more):
    written = {"apiGroups": list(groups), "apiVersions": ["v1"], "operations": list(operations)}
    return {**more, **written, "resources": list(resources)}


EVERY = ("CREATE", "UPDATE", "CONNECT", "DELETE")


@pytest.mark.parametrize(
    ("match", "rules", "more"),
    [
        (match({"kinds": ["Deployment"]}), [rule(["deployments"], operations=EVERY)], {}),
        (
            match(
                {"kinds": ["StatefulSet", "DaemonSet"], "operations": ["CREATE"]},
                {"kinds": ["Deployment"], "operations": ["DELETE"], "name": "a"},
            ),
            [rule(["daemonsets", "deployments", "statefulsets"])],
            {},
        ),
        (
            match({"kinds": ["Pod"], "operations": ["CREATE"], "names": ["a", "b"]}),
            [rule(["pods", "pods/ephemeralcontainers"], groups=("",), resourceNames=["a", "b"])],
            {},
        ),
        (
            match({"kinds": ["Pod/exec"], "operations": ["CONNECT"]}),
            [rule(["pods/exec"], groups=("",), operations=["CONNECT"])],
            {},
        ),
        (
            match({"kinds": ["Service"], "operations": ["CREATE"], "namespaces": ["a"]}),
            [rule(["services"], groups=("",))],
            {
                "namespaceSelector": {
                    "matchExpressions": [
                        {"key": "kubernetes.io/metadata.name", "operator": "In", "values": ["a"]}
                    ]
                }
            },
        ),
        (
            match(
                {
                    "kinds": ["Service"],
                    "operations": ["CREATE"],
                    "selector": {"matchLabels": {"a": "b"}},
                }
            ),
            [rule(["services"], groups=("",))],
            {"objectSelector": {"matchLabels": {"a": "b"}}},
        ),
        (
            {"resources": {"kinds": ["Service"], "operations": ["CREATE"]}},
            [rule(["services"], groups=("",))],
            {},
        ),
    ],
)
def test_match_blocks_become_constraints(put, stored, policy, match, rules, more):
    put(policy(match=match))
    constraints = stored()["spec"]["matchConstraints"]
    found = [{**one, "scope": "*"} for one in rules]
    assert constraints["resourceRules"] == found
    for field, selector in more.items():
        assert constraints[field] == selector


@pytest.mark.parametrize(
    ("exclude", "rules"),
    [
        ({"kinds": ["Deployment"], "names": ["a"]}, [("apps", "deployments", ["a"])]),
        ({"namespaces": ["a", "b"]}, [("", "namespaces", ["a", "b"])]),
    ],
)
def test_exclude_blocks_become_exclusions(put, stored, policy, exclude, rules):
    put(policy(exclude=match(exclude)))
    found = stored()["spec"]["matchConstraints"]["excludeResourceRules"]
    read = [(one["apiGroups"][0], one["resources"][0], one["resourceNames"]) for one in found]
    assert read == rules


LABELLED = {"matchLabels": {"a": "b"}}
CRITERIA = {
    "operations": {"operations": ["CREATE"]},
    "kinds": {"kinds": ["DaemonSet"]},
    "name": {"name": "a"},
    "names": {"names": ["a"]},
    "namespaces": {"namespaces": ["a"]},
    "annotations": {"annotations": {"a": "b"}},
    "selector": {"selector": LABELLED},
    "namespace_selector": {"namespaceSelector": LABELLED},
}
OF_USERS = {
    "roles": {"roles": ["a:r"]},
    "cluster_roles": {"clusterRoles": ["r"]},
    "subjects": {"subjects": [{"kind": "User", "name": "u"}]},
}


@pytest.mark.parametrize("block", ["match", "exclude"])
@pytest.mark.parametrize("field", ResourceFilter._fields[2:])
def test_a_criterion_is_a_constraint_or_the_reason_for_none(
    put, admin, cluster, stored, said, policy, field, block
):
    """A policy without it would decide on other requests than the rule."""
    kinds = {"kinds": ["Deployment"]}
    put(policy(**{block: match(kinds)}))
    plain = stored()["spec"]["matchConstraints"]
    of_user = OF_USERS.get(field)
    criterion = {} if of_user else CRITERIA[field]
    changed = {block: match({**kinds, **criterion}, **(of_user or {}))}
    assert admin.update(policy(**changed)).ok
    cluster.sim.scheduler.settle(30)
    is_generated, why = said()
    assert why if not is_generated else stored()["spec"]["matchConstraints"] != plain


STAR = {"kinds": ["Deployment"], "names": ["a*"]}
TWO = [{"action": "Audit", "namespaces": ["a"]}, {"action": "Audit", "namespaces": ["b"]}]
SELECTED = {"kinds": ["Deployment"], "selector": {"matchLabels": {"a": "b"}}}
USER = {"subjects": [{"kind": "User", "name": "u"}]}
ALL = [{"resources": {"kinds": ["Deployment"], "operations": [one]}} for one in EVERY[:2]]
ACROSS = "NamespaceSelector / ObjectSelector across multiple resources in the match block"


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"cel": {"generate": False}}, ": validate.cel.generate is not set to true."),
        ({"cel": {"generate": None}}, ": validate.cel.generate is not set to true."),
        ({"match": match(STAR)}, ": wildcards in resource name is not applicable."),
        (
            {"match": match({"kinds": ["Deployment"], "namespaces": ["a*"]})},
            ": wildcards in namespace name is not applicable.",
        ),
        (
            {"match": match({"kinds": ["Deployment"], "annotations": {"a": "b"}})},
            ": Annotations in resource description is not applicable.",
        ),
        (
            {"match": match({"kinds": ["Deployment"]}, **USER)},
            ": Roles / ClusterRoles / Subjects in `any/all` is not applicable.",
        ),
        (
            {"match": match(SELECTED, {"kinds": ["DaemonSet"]})},
            f": {ACROSS} are not applicable.",
        ),
        (
            {"match": {"all": ALL}},
            ": multiple 'all' in the match block is not applicable.",
        ),
        (
            {"exclude": match(SELECTED)},
            ": NamespaceSelector / ObjectSelector in the exclude block is not applicable.",
        ),
        (
            {"exclude": match({"kinds": ["Deployment"], "namespaces": ["a"]})},
            ": excluding a resource within a namespace is not applicable.",
        ),
        (
            {"validate": {"failureActionOverrides": TWO}},
            ": multiple validationFailureActionOverrides are not applicable.",
        ),
        (
            {"validate": {"failureActionOverrides": TWO[:1]}},
            ": Namespaces in validationFailureActionOverrides is not applicable.",
        ),
        (
            {"validate": {"cel": None, "deny": {}}},
            " for non CEL rules.",
        ),
    ],
)
def test_the_status_says_why_there_is_none(put, policy, stored, said, webhooks, changed, why):
    put(policy(**changed))
    assert said() == (False, f"{SKIPPED}{why}")
    assert stored() is None
    assert webhooks() == ["validate.kyverno.svc-fail"]


def test_policies_of_several_rules_stay_with_the_webhook(put, policy, said):
    put(policy({"match": DEPLOYMENTS, "validate": {"deny": {}}}))
    assert said() == (False, f"{SKIPPED}: multiple rules are not applicable.")


def test_policies_that_validate_nothing_say_nothing(put, cluster_policy, said):
    put(cluster_policy("team", {"mutate": {"patchStrategicMerge": {"metadata": {}}}}))
    assert said() == (False, "")


@pytest.mark.parametrize("kind", ["HorizontalPodAutoscaler", "*Set"])
def test_a_kind_of_several_resources_is_refused(admin, policy, kind):
    error = admin.create(policy(match=match({"kinds": [kind]}))).error
    assert error.message.endswith(f"denied the request: no unique match for kind {kind}")


def test_a_policy_that_cannot_be_made_anew_stays_as_it_was(
    put, admin, cluster, policy, stored, said
):
    put(policy())
    before = stored()["spec"]
    admin.update(policy(match=match({"kinds": ["*Set"]})))
    cluster.sim.scheduler.settle(30)
    assert stored()["spec"] == before
    assert said() == (True, "")


def test_the_webhook_decides_where_the_api_server_refuses_what_is_made(
    put, admin, policy, stored, said, webhooks, deployment
):
    put(policy(cel={"expressions": [{"expression": "object.spec.replicas < variables.none"}]}))
    assert stored() is None
    assert said() == (False, "")
    assert webhooks() == ["validate.kyverno.svc-fail"]
    assert not admin.create(deployment()).ok


def test_what_cannot_be_changed_stays_as_it_was(put, admin, cluster, policy, stored, said):
    put(policy())
    admin.update(policy(cel={"expressions": [{"expression": "variables.none == 1"}]}))
    cluster.sim.scheduler.settle(30)
    assert stored()["spec"]["validations"] == [TEAM]
    assert said() == (True, "")


def test_a_changed_policy_changes_what_is_made(put, admin, cluster, policy, stored):
    put(policy())
    admin.update(policy(cel={"expressions": [{"expression": "true"}]}))
    cluster.sim.scheduler.settle(30)
    assert stored()["spec"]["validations"] == [{"expression": "true"}]


def test_a_label_that_somebody_adds_stays_and_lets_scans_tell(
    put, admin, cluster, policy, deployment, stored
):
    put(policy(validate={"failureAction": "Audit"}), deployment())
    label = {"reports.kyverno.io/enabled": "true"}
    key = ObjectKey(NATIVE, "ValidatingAdmissionPolicy", "", "cpol-team")
    assert admin.merge(key, {"metadata": {"labels": label}}).ok
    admin.update(policy(validate={"failureAction": "Audit"}, cel={"expressions": [TEAM, TEAM]}))
    cluster.sim.scheduler.advance(120)
    assert len(stored()["spec"]["validations"]) == 2
    (report,) = cluster.sim.store.list("wgpolicyk8s.io/v1alpha2", "PolicyReport", "default")
    assert [one["policy"] for one in report["results"]] == ["cpol-team"]


def test_the_webhook_decides_again_where_it_is_not_wanted_any_more(
    put, admin, cluster, policy, stored, said, webhooks, deployment
):
    put(policy())
    admin.update(policy(cel={"generate": False}))
    cluster.sim.scheduler.settle(30)
    assert stored() is None
    assert stored("ValidatingAdmissionPolicyBinding", "cpol-team-binding") is None
    assert said()[0] is False
    assert webhooks() == ["validate.kyverno.svc-fail"]
    error = admin.create(deployment()).error
    assert error.message.startswith('admission webhook "validate.kyverno.svc-fail" denied')


def test_it_goes_with_its_policy(put, admin, cluster, policy, stored, deployment):
    put(policy())
    admin.delete(ObjectKey("kyverno.io/v1", "ClusterPolicy", "", "team"))
    cluster.sim.scheduler.settle(60)
    assert stored() is None
    assert admin.create(deployment()).ok


def test_exceptions_become_exclusions(put, admin, policy, exception, deployment, cluster, said):
    put(policy(), exception({"kinds": ["Deployment"], "names": ["web"]}))
    assert said() == (True, "")
    assert admin.create(deployment()).ok
    assert admin.create(deployment("other")).error.message.endswith("team is missing")
    admin.delete(ObjectKey("kyverno.io/v2", "PolicyException", "default", "x"))
    cluster.sim.scheduler.settle(30)
    assert admin.create(deployment("web", "kube-public")).error.message == BY_SERVER


@pytest.mark.parametrize(
    ("resources", "spec", "why"),
    [
        (
            {"kinds": ["Deployment"], "namespaces": ["default"]},
            {},
            ": excluding a resource within a namespace is not applicable.",
        ),
        (
            SELECTED,
            {},
            ": NamespaceSelector / ObjectSelector in the exclude block is not applicable.",
        ),
        (
            {"kinds": ["Deployment"]},
            {"conditions": {"all": [{"key": "a", "operator": "Equals", "value": "a"}]}},
            ": Conditions in PolicyException is not applicable.",
        ),
    ],
)
def test_an_exception_that_cannot_be_one_brings_the_webhook_back(
    put, policy, exception, stored, said, webhooks, resources, spec, why
):
    put(policy(), exception(resources, **spec))
    assert said() == (False, f"{SKIPPED}{why}")
    assert stored() is None
    assert webhooks() == ["validate.kyverno.svc-fail"]


def test_an_exception_from_several_rules_is_heeded_when_the_policy_changes(
    put, admin, cluster, policy, exception, said
):
    put(policy(), exception({"kinds": ["Deployment"]}, rules=("rule-0", "other")))
    assert said() == (True, "")
    admin.update(policy(cel={"expressions": [{"expression": "true"}]}))
    cluster.sim.scheduler.settle(30)
    why = ": multiple ruleNames in PolicyException is not applicable."
    assert said() == (False, f"{SKIPPED}{why}")


@pytest.mark.parametrize(
    ("resource", "named"),
    [
        ("validatingadmissionpolicies", "ValidatingAdmissionPolicies"),
        ("validatingadmissionpolicybindings", "ValidatingAdmissionPolicyBindings"),
    ],
)
def test_the_status_says_what_kyverno_may_not_make(
    put, admin, cluster, policy, said, stored, resource, named
):
    for role in cluster.sim.store.list("rbac.authorization.k8s.io/v1", "ClusterRole", ""):
        rules = [
            {**one, "resources": [name for name in one["resources"] if name != resource]}
            if resource in (one.get("resources") or ())
            else one
            for one in role.get("rules") or ()
        ]
        if rules != (role.get("rules") or []):
            admin.update({**role, "rules": rules})
    put(policy())
    assert said() == (False, f"insufficient permissions to generate {named}")
    assert stored() is None


def test_nothing_is_made_where_the_installation_says_so(make_cluster, policy):
    values = {"features": {"generateValidatingAdmissionPolicy": {"enabled": False}}}
    sim = make_cluster(installation=Installation("own", values)).sim
    sim.client(ADMIN).create(policy())
    sim.scheduler.settle(30)
    assert sim.store.get(NATIVE, "ValidatingAdmissionPolicy", "", "cpol-team") is None
    status = sim.store.get("kyverno.io/v1", "ClusterPolicy", "", "team")["status"]
    assert status["validatingadmissionpolicy"] == {"generated": False, "message": ""}


def test_scans_tell_nothing_of_what_the_api_server_decides(put, policy, deployment, cluster):
    put(deployment(), policy(spec={"background": True}))
    cluster.sim.scheduler.advance(120)
    assert not cluster.sim.store.list("wgpolicyk8s.io/v1alpha2", "PolicyReport", "")


def test_events_tell_what_is_made(put, admin, policy, cluster):
    settings = cluster.sim.store.get("v1", "ConfigMap", "kyverno", "kyverno")
    wanted = {"generateSuccessEvents": "true", "successEventActions": "Resource Generated"}
    admin.update({**settings, "data": {**settings["data"], **wanted}})
    put(policy())
    told = [one["message"] for one in cluster.sim.store.list("v1", "Event", "")]
    named = "validating admission policy"
    assert told == [
        f"successfully generated {named} cpol-team from policy team",
        f"successfully generated {named} binding cpol-team-binding from policy team",
    ] * (len(told) // 2)
    assert told
