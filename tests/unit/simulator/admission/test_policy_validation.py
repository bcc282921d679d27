"""What a cluster says of policies: refusals and warnings that need one."""

import pytest

from kyvsim.kubernetes.objects import ObjectKey
from kyvsim.model.release import RELEASES, V_1_19_0, V_1_19_1
from kyvsim.model.request import UserInfo

CEL = "policies.kyverno.io/v1"

GENERATE = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "name": "made",
    "namespace": "default",
    "data": {"data": {"a": "1"}},
}
DENY = {"validate": {"message": "no", "deny": {}}}
UNKNOWN = "unable to convert GVK to GVR for kinds Gizmo, err: resource not found"


def matching(*kinds):
    return {"match": {"any": [{"resources": {"kinds": list(kinds)}}]}}


@pytest.fixture
def said(admin):
    """Return what gives the end of the refusal of a creation."""

    def told(policy):
        error = admin.create(policy).error
        return error.message.partition(" denied the request: ")[2] if error else ""

    return told


@pytest.mark.parametrize(
    ("release", "start"),
    [
        (V_1_19_0, "ClusterPolicy (kyverno.io) is deprecated"),
        (V_1_19_1, "kyverno.io/v1 ClusterPolicy is deprecated"),
    ],
)
def test_policies_are_said_to_be_deprecated(admin, cluster_policy, start):
    response = admin.create(cluster_policy("p", DENY))
    assert response.ok
    assert response.warnings[-1].startswith(start)


OLD = "Validation failure actions enforce/audit are deprecated, use Enforce/Audit instead."
PATHS = (
    "spec.validationFailureAction",
    "spec.rules[0].validate.failureActionOverrides[0].action",
)


@pytest.mark.parametrize(
    ("release", "expected"),
    [(V_1_19_0, [OLD]), (V_1_19_1, [f"{path}: {OLD}" for path in PATHS])],
)
def test_old_spellings_of_actions_are_deprecated(admin, cluster_policy, expected):
    overrides = [{"action": "audit", "namespaces": ["dev"]}]
    rule = {**DENY, "validate": {**DENY["validate"], "failureActionOverrides": overrides}}
    response = admin.create(cluster_policy("p", rule, validationFailureAction="enforce"))
    assert [one for one in response.warnings if OLD in one] == expected


EXCEPTION = {
    "policyRefs": [{"name": "any", "kind": "ValidatingPolicy"}],
    "matchConditions": [
        {"name": "a", "expression": "objet.metadata.name == 'x'"},
        {"name": "a", "expression": "object.metadata.name == 'x'"},
        {"name": "b c", "expression": "'text'"},
        {"name": "d", "expression": "json.marshal(object) == ''"},
    ],
}


@pytest.mark.parametrize("release", [V_1_19_0, V_1_19_1])
def test_conditions_of_exceptions_are_compiled(admin, obj, release):
    exception = obj("PolicyException", "e", "default", api_version=CEL, spec=EXCEPTION)
    error = admin.create(exception).error
    if release is V_1_19_0:
        assert error is None
        return
    assert "spec.matchConditions[0].expression: Invalid value: " in error.message
    assert "undeclared reference to 'objet'" in error.message
    assert 'spec.matchConditions[1].name: Duplicate value: "a"' in error.message
    assert "output is expected to be of type bool" in error.message
    assert 'spec.matchConditions[2].name: Invalid value: "b c"' in error.message
    assert "undeclared reference to 'json'" in error.message


@pytest.mark.parametrize(("release", "refused"), [(V_1_19_0, False), (V_1_19_1, True)])
@pytest.mark.parametrize("namespace", ["default", ""])
def test_namespaced_policies_cannot_read_global_context(admin, obj, namespace, refused):
    rule = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": ["CREATE"],
        "resources": ["configmaps"],
    }
    spec = {
        "matchConstraints": {"resourceRules": [rule]},
        "variables": [{"name": "known", "expression": "globalContext.Get('names', '')"}],
        "validations": [{"expression": "variables.known == null"}],
    }
    kind = "NamespacedValidatingPolicy" if namespace else "ValidatingPolicy"
    error = admin.create(obj(kind, "p", namespace, api_version=CEL, spec=spec)).error
    text = "spec: Forbidden: globalContext.* is not allowed in namespaced policies"
    assert (error is not None and text in error.message) is bool(refused and namespace)


CONFIG_MAPS = {
    "apiGroups": [""],
    "apiVersions": ["v1"],
    "operations": ["CREATE"],
    "resources": ["configmaps"],
}
CALL = "http.Get('http://a.b/') == null"
LABEL = "Object{metadata: Object.metadata{labels: {'a': 'b'}}}"
MUTATES = {
    "mutations": [{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": LABEL}}]
}
TARGETS = {
    **MUTATES,
    "targetMatchConstraints": {"resourceRules": [CONFIG_MAPS]},
    "targetMatchConditions": [{"name": "c", "expression": CALL}],
}
ATTESTS = {
    "matchImageReferences": [{"glob": "*"}],
    "attestors": [{"name": "a", "cosign": {"key": {"expression": "http.Get('http://a.b/').key"}}}],
    "validations": [{"expression": "true"}],
}
CHECKS = {"validations": [{"expression": CALL}]}


@pytest.mark.parametrize(
    ("kind", "spec", "refusing"),
    [
        ("NamespacedValidatingPolicy", CHECKS, {"1.19.0", "1.19.1"}),
        ("ValidatingPolicy", CHECKS, set()),
        ("NamespacedValidatingPolicy", {"validations": [{"expression": "'http' != ''"}]}, set()),
        ("NamespacedMutatingPolicy", TARGETS, {"1.19.1"}),
        ("NamespacedMutatingPolicy", MUTATES, set()),
        ("NamespacedImageValidatingPolicy", ATTESTS, {"1.19.1"}),
        ("ImageValidatingPolicy", ATTESTS, set()),
    ],
)
@pytest.mark.parametrize("release", RELEASES.values(), ids=str)
def test_namespaced_policies_make_no_http_calls(admin, obj, release, kind, spec, refusing):
    namespace = "default" if kind.startswith("Namespaced") else ""
    spec = {"matchConstraints": {"resourceRules": [CONFIG_MAPS]}, **spec}
    error = admin.create(obj(kind, "p", namespace, api_version=CEL, spec=spec)).error
    text = (
        "spec: Forbidden: http.* is not allowed in namespaced policies; "
        "set --allowHTTPInNamespacedPolicies to enable"
    )
    assert (error is not None) is (release.name in refusing)
    assert error is None or text in error.message


def test_every_reason_against_a_policy_is_named_in_order(admin, obj):
    spec = {
        "matchConstraints": {"resourceRules": []},
        "variables": [{"name": "a", "expression": "globalContext.Get('a', '')"}],
        **CHECKS,
    }
    message = admin.create(
        obj("NamespacedValidatingPolicy", "p", "default", api_version=CEL, spec=spec)
    ).error.message
    texts = ("at least one resource rule", "globalContext.* is not", "http.* is not")
    places = [message.find(one) for one in texts]
    assert -1 not in places
    assert places == sorted(places)


KIND_WARNING = "is deprecated and will be removed"


@pytest.mark.parametrize("release", RELEASES.values(), ids=str)
def test_each_request_for_a_deprecated_kind_is_answered_with_a_warning(
    admin, release, cluster_policy
):
    assert admin.create(cluster_policy("p", DENY)).ok
    key = ObjectKey("kyverno.io/v1", "ClusterPolicy", "", "p")
    changed = admin.merge(key, {"metadata": {"labels": {"a": "b"}}})
    deleted = admin.delete(key)
    missing = admin.delete(key)
    counts = [
        sum(KIND_WARNING in one for one in answer.warnings)
        for answer in (changed, deleted, missing)
    ]
    # The webhook is not called for deletions.
    assert counts == ([1, 1, 1] if release.deprecates_definitions else [1, 0, 0])


@pytest.mark.parametrize("release", RELEASES.values(), ids=str)
def test_old_versions_of_a_kind_are_deprecated_in_every_release(admin, obj):
    entry = {"kubernetesResource": {"group": "apps", "version": "v1", "resource": "deployments"}}
    old = "kyverno.io/v2alpha1 GlobalContextEntry is deprecated; use kyverno.io/v2"
    for version, expected in (("v2alpha1", (f"{old} GlobalContextEntry",)), ("v2", ())):
        kind = obj("GlobalContextEntry", version, api_version=f"kyverno.io/{version}", spec=entry)
        assert admin.create(kind).warnings == expected


def test_who_may_not_ask_gets_no_warning(cluster, cluster_policy):
    nobody = cluster.sim.client(UserInfo("nobody"))
    response = nobody.create(cluster_policy("p", DENY))
    assert not response.ok
    assert response.warnings == ()


def test_generation_without_rights_is_refused(said, cluster_policy):
    rule = {"generate": {**GENERATE, "kind": "ServiceAccount", "synchronize": True}}
    user = "system:serviceaccount:kyverno:kyverno-background-controller"
    assert said(cluster_policy("p", rule)) == (
        f"path: spec.rules[0].generate..: {user} requires permissions create,update,delete"
        " for resource v1/ServiceAccount in namespace default"
    )


def test_generation_has_no_cel_preconditions(said, cluster_policy):
    reason = "path: spec.rules[0].generate..: celPrecondition can only be used with validate.cel"
    for conditions in ([{"name": "a", "expression": "true"}], []):
        rule = {"generate": GENERATE, "celPreconditions": conditions}
        assert said(cluster_policy("p", rule)) == reason


def test_a_derived_rule_without_a_body_is_refused(said, cluster_policy):
    told = said(cluster_policy("p", {"validate": {"anyPattern": []}, **matching("Pod")}))
    assert told.startswith("path: spec.rules[1].validate..: one of pattern, anyPattern")


def test_rights_are_not_looked_at_for_variable_kinds(said, cluster_policy):
    kind = "{{ request.object.data.kind }}"
    assert not said(cluster_policy("p", {"generate": {**GENERATE, "kind": kind}}))


def test_mutation_without_rights_is_refused(said, cluster_policy):
    target = {"apiVersion": "batch/v1", "kind": "Job", "namespace": "default", "name": "j"}
    patch = {"targets": [target], "patchStrategicMerge": {"metadata": {"labels": {"a": "b"}}}}
    told = said(cluster_policy("p", {"mutate": patch}))
    assert told.startswith("path: spec.rules[0].mutate.targets.: auth check fails, additional")
    assert told.endswith(
        "requires permissions update for resource batch/v1/Job in namespace default"
    )


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"kind": "ClusterRole", "apiVersion": "rbac.authorization.k8s.io/v1"}, "must not be set"),
        ({"namespace": ""}, "target namespace must be set for a namespaced resource"),
    ],
)
def test_scopes_of_targets_are_those_of_the_cluster(said, cluster_policy, changes, told):
    assert told in said(cluster_policy("p", {"generate": {**GENERATE, **changes}}))


@pytest.mark.parametrize(
    ("kinds", "refusal", "warning"),
    [
        (["Gizmo"], f"path: spec.rules[0].match.any[0].kinds: {UNKNOWN}", ""),
        (["Pod", "Gizmo"], "", f"the kind defined in the all match resource is invalid: {UNKNOWN}"),
        (["Pod"], "", ""),
    ],
)
def test_unknown_kinds(admin, cluster_policy, kinds, refusal, warning):
    response = admin.create(cluster_policy("p", {**DENY, **matching(*kinds)}))
    assert (response.error.message if response.error else "").endswith(refusal)
    assert response.ok is not bool(refusal)
    assert (warning in response.warnings) is bool(warning)


@pytest.mark.parametrize(("background", "ok"), [(True, False), (False, True)])
def test_subresources_are_not_scanned(admin, cluster_policy, background, ok):
    policy = cluster_policy("p", {**DENY, **matching("Pod/exec")}, background=background)
    assert admin.create(policy).ok is ok


def test_all_faults_of_the_structure_are_told_together(said, cluster_policy):
    rules = [{**DENY, "name": "same"}, {**DENY, "name": "same"}]
    told = said(cluster_policy("p" * 64, *rules))
    assert told.startswith("[name: Too long: may not be more than 63 bytes, ")


@pytest.mark.parametrize(
    ("synchronize", "change", "ok"),
    [
        (True, {"data": {"data": {"a": "2"}}}, True),
        (True, {"match": matching("Secret")["match"]}, False),
        (False, {"match": matching("Secret")["match"]}, True),
        (False, {"preconditions": {"all": []}}, False),
    ],
)
def test_generate_rules_change_only_where_targets_are_not_lost(
    put, admin, cluster_policy, synchronize, change, ok
):
    target = {**GENERATE, "synchronize": synchronize}
    rule = {"generate": target, **matching("Secret", "Namespace")}
    put(cluster_policy("p", rule))
    if "data" in change:
        change = {"generate": {**target, **change}}
    response = admin.update(cluster_policy("p", {**rule, **change}))
    assert response.ok is ok
    if not ok:
        assert response.error.message.endswith(
            "changes of immutable fields of a rule spec in a generate rule is disallowed"
        )


def test_a_moved_target_is_warned_of(put, admin, cluster_policy):
    put(cluster_policy("p", {"generate": GENERATE}))
    response = admin.update(cluster_policy("p", {"generate": {**GENERATE, "name": "other"}}))
    assert response.ok
    assert any("could result in stale targets" in one for one in response.warnings)


@pytest.mark.parametrize(
    ("expression", "ok"), [("request.operation == 'CREATE'", True), ("1 +", False), ("1", False)]
)
def test_conditions_of_webhooks_are_compiled(admin, cluster_policy, expression, ok):
    condition = {"name": "c", "expression": expression}
    policy = cluster_policy("p", DENY, webhookConfiguration={"matchConditions": [condition]})
    assert admin.create(policy).ok is ok


def test_a_policy_without_rights_to_report_is_let_in_with_a_warning(admin, cluster_policy):
    binding = ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "")
    for name in ("kyverno:reports-controller", "kyverno:reports-controller:view"):
        admin.delete(ObjectKey(*binding, name))
    response = admin.create(cluster_policy("p", DENY))
    assert response.ok
    assert (
        "system:serviceaccount:kyverno:kyverno-reports-controller"
        " requires permissions get,list,watch for resource Pod"
    ) in response.warnings


def test_the_timeline_leaves_out_that_a_kind_is_deprecated(put, cluster, cluster_policy):
    put(cluster_policy("p", {**DENY, **matching("Pod", "Gizmo")}))
    told = next(one for one in cluster.sim.timeline.events if one.object.kind == "ClusterPolicy")
    assert told.message.endswith(UNKNOWN)


def cel_rule(*expressions, kinds=("Secret",), **more):
    written = [{"expression": one, "message": "no"} for one in expressions]
    return {"validate": {"cel": {"expressions": written, **more}}, **matching(*kinds)}


NO_OVERLOAD = "found no matching overload for '_==_' applied to '(string, int)'"


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ([cel_rule("object.kind == 'Secret'")], []),
        (
            [cel_rule("true", "!has(object.name)", "object.type == 1")],
            [
                ("1:5: undefined field 'name'", "!has(object.name)", 1),
                (f"1:13: {NO_OVERLOAD}", "object.type == 1", 2),
            ],
        ),
        (
            [cel_rule("variables.x == 1", variables=[{"name": "x", "expression": "object.type"}])],
            [(f"1:13: {NO_OVERLOAD}", "variables.x == 1", 0)],
        ),
        # What no admission policy could replace is not checked.
        ([cel_rule("has(object.name)"), {**cel_rule("true"), "name": "other"}], []),
        ([cel_rule("has(object.name)", kinds=("*",))], []),
    ],
)
def test_expressions_in_cel_are_checked_with_the_types_of_their_kinds(
    admin, cluster_policy, rules, expected
):
    response = admin.create(cluster_policy("p", *rules))
    assert response.ok
    place = "spec.rules[0].validate.cel.expressions"
    assert [one for one in response.warnings if one.startswith(place)] == [
        f"{place}[{index}].expression:/v1, Kind=Secret: ERROR: <input>:{error}; | {text}; | "
        f"{'.' * (int(error.split(':')[1]) - 1)}^;"
        for error, text, index in expected
    ]


def test_rules_in_cel_have_kinds_that_select_one_resource(said, cluster_policy):
    rule = cel_rule("true", kinds=("Event",))
    assert said(cluster_policy("p", rule)) == "no unique match for kind Event"
