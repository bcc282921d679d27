"""GeneratingPolicies over objects, as `apply` evaluates them."""

import pytest

from kyvsim.api import ApplyInputs, open_application
from kyvsim.cel.kyverno.environments import kyverno_environment
from kyvsim.languages.cel.generating_policy import TemplateError, compile_template
from kyvsim.languages.cel_expressions import Compiler, EvaluationError, KyvernoScope

# generating policy


NAMESPACE = """
apiVersion: v1
kind: Namespace
metadata: {name: team-a, labels: {team: a}}
"""
HEAD = """
apiVersion: policies.kyverno.io/v1
kind: GeneratingPolicy
metadata: {name: p}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [namespaces]}
"""
NAMESPACED = """
apiVersion: policies.kyverno.io/v1
kind: NamespacedGeneratingPolicy
metadata: {name: p, namespace: shop}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}
"""
POD = """
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: %s}
spec: {containers: [{name: web, image: nginx}]}
"""
MADE = "[{'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': 'made'}}]"
GENERATED = ("p", "pass", "policy evaluated successfully")


@pytest.fixture
def run(tmp_path):
    """Return what gives the rows of a policy, the objects it generates, and the diagnostics."""

    def call(spec, resource=NAMESPACE, head=HEAD):
        policy = tmp_path / "policy.yaml"
        policy.write_text(head + spec)
        given = tmp_path / "resources.yaml"
        given.write_text(resource)
        found = open_application(ApplyInputs(policies=(str(policy),), resources=(str(given),)))
        results = [
            result
            for response in found.responses
            for answer in response.responses
            for result in answer.results
        ]
        rows = [(result.rule.name, result.status.value, result.message) for result in results]
        return rows, [obj for result in results for obj in result.generated], found.diagnostics

    return call


def names(objects):
    return [(obj["metadata"].get("namespace", ""), obj["metadata"]["name"]) for obj in objects]


def test_an_expression_generates_what_it_applies(run):
    rows, made, said = run(f"  generate: [{{expression: \"generator.Apply('ns', {MADE})\"}}]")
    place = {"name": "made", "namespace": "ns"}
    assert (rows, said) == ([GENERATED], ())
    assert made == [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": place}]


def test_its_value_does_not_count_and_each_call_does(run):
    text = f"['x', 'y'].all(n, generator.apply(n, {MADE})) && false"
    rows, made, _ = run(f'  generate: [{{expression: "{text}"}}]')
    assert rows == [GENERATED]
    assert names(made) == [("x", "made"), ("y", "made")]


def test_lists_are_taken_apart_and_may_hold_objects_only(run):
    text = "generator.Apply('ns', [{'kind': 'List', 'items': %s}])"
    _, made, _ = run(f'  generate: [{{expression: "{text % MADE}"}}]')
    assert names(made) == [("ns", "made")]
    rows, made, _ = run(f'  generate: [{{expression: "{text % [1]}"}}]')
    problem = "failed to generate resources: items member is not an object: map[string]interface {}"
    assert (rows, made) == ([("p", "error", f"failed to evaluate policy: {problem}")], [])


TEMPLATE = """
  variables: [{name: of, expression: object.metadata.name}]
  generate:
  - template:
      interpolate: cel
      value: |
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: "(( variables.of ))-settings", namespace: (( variables.of ))}
        ---
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: settings, namespace: other}
        ---
        apiVersion: v1
        kind: Namespace
        metadata: {name: made}
"""


def test_a_template_says_where_its_objects_go(run):
    rows, made, _ = run(TEMPLATE)
    assert rows == [GENERATED]
    assert names(made) == [("team-a", "team-a-settings"), ("other", "settings"), ("", "made")]


FAILED = "failed to evaluate policy: failed to generate resources: "
ROLE = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole"}
TENANT = {"apiVersion": "example.com/v1", "kind": "Tenant"}
TENANTS = """
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: tenants.example.com}
spec: {group: example.com, scope: Cluster, names: {kind: Tenant, plural: tenants}}
"""


@pytest.mark.parametrize(
    ("kind", "namespace", "place", "given"),
    [
        (ROLE, "", "", ""),
        (ROLE, "ns", "", ""),
        (TENANT, "ns", "ns", ""),
        (TENANT, "", "", ""),
        (TENANT, "ns", "", TENANTS),
    ],
)
def test_objects_of_cluster_scoped_kinds_are_made_in_no_namespace(
    run, kind, namespace, place, given
):
    made = [{**kind, "metadata": {"name": "made"}}]
    text = f"generator.Apply('{namespace}', {made})"
    rows, made, _ = run(f'  generate: [{{expression: "{text}"}}]', NAMESPACE + given)
    assert (rows[0], names(made)) == (GENERATED, [(place, "made")])


def test_an_object_of_a_namespaced_kind_without_a_namespace_is_an_error(run):
    rows, made, _ = run(f"  generate: [{{expression: \"generator.Apply('', {MADE})\"}}]")
    why = "ConfigMap `made` is namespaced, but no namespace is given"
    assert (rows, made) == ([("p", "error", FAILED + why)], [])


def test_a_namespaced_policy_makes_no_objects_of_cluster_scoped_kinds(run):
    made = [{**ROLE, "metadata": {"name": "made"}}]
    spec = f'  generate: [{{expression: "generator.Apply({made})"}}]'
    ((_, status, message),), generated, _ = run(spec, POD % "shop", NAMESPACED)
    assert (status, generated) == ("error", [])
    assert message == (
        f'{FAILED}cross-scope generation denied: a policy scoped to namespace "shop" cannot '
        "generate cluster-scoped resource rbac.authorization.k8s.io/v1/ClusterRole"
    )


def test_an_error_forgets_what_was_generated_before(run):
    later = f"[{{expression: \"generator.Apply('ns', {MADE})\"}}, {{expression: object.zzz == 1}}]"
    rows, made, _ = run(f"  generate: {later}")
    assert rows == [("p", "error", "failed to evaluate policy: no such key: zzz")]
    assert made == []


@pytest.mark.parametrize(
    ("condition", "rows"),
    [
        ("object.metadata.name == 'team-a'", [GENERATED]),
        ("object.metadata.name == 'b'", []),
        ("object.zzz == 1", [("p", "error", "failed to evaluate policy: no such key: zzz")]),
    ],
)
def test_conditions(run, condition, rows):
    spec = f'  matchConditions: [{{name: c, expression: "{condition}"}}]\n'
    assert run(f'{spec}  generate: [{{expression: "true"}}]')[0] == rows


def test_an_annotation_that_has_no_value_is_an_error(run):
    spec = "  auditAnnotations: [{key: k, valueExpression: string(object.zzz)}]\n"
    problem = 'failed to evaluate auditAnnotation "k": no such key: zzz'
    rows, _, _ = run(f'{spec}  generate: [{{expression: "true"}}]')
    assert rows == [("p", "error", f"failed to evaluate policy: {problem}")]


def test_a_namespaced_policy_generates_in_its_namespace_for_objects_there(run):
    spec = f'  generate: [{{expression: "generator.Apply({MADE})"}}]'
    rows, made, _ = run(spec, POD % "shop", NAMESPACED)
    assert (rows, names(made)) == ([GENERATED], [("shop", "made")])
    assert run(spec, POD % "elsewhere", NAMESPACED)[0] == []


@pytest.mark.parametrize(
    ("namespace", "outcome"),
    [
        ("{name: made}", "pass"),
        ("{name: made, namespace: shop}", "pass"),
        ("{name: made, namespace: kube-system}", "error"),
    ],
)
def test_a_namespaced_policy_may_not_generate_elsewhere(run, namespace, outcome):
    value = f"{{apiVersion: v1, kind: ConfigMap, metadata: {namespace}}}"
    rows, made, _ = run(
        f'  generate: [{{template: {{value: "{value}"}}}}]', POD % "shop", NAMESPACED
    )
    assert rows[0][1] == outcome
    assert names(made) == ([("shop", "made")] if outcome == "pass" else [])
    if outcome == "error":
        assert rows[0][2] == (
            "failed to evaluate policy: cross-namespace generation denied: a policy in namespace "
            '"shop" cannot generate resources into namespace "kube-system"'
        )


def test_what_does_not_compile_is_told_with_its_line(run):
    rows, _, said = run("  generate: [{template: {interpolate: cel, value: 'a: (( 1 + ))'}}]")
    assert rows == []
    (problem,) = said
    assert problem.code == "KV150"
    assert 'line 1: invalid placeholder expression "1 +": ERROR: <input>:1:4:' in problem.message


@pytest.mark.parametrize(
    "entry", ["{}", "{expression: 'generator.apply(\"a\", [])', template: {value: 'a: b'}}"]
)
def test_an_entry_is_an_expression_or_a_template(run, entry):
    rows, _, (problem,) = run(f"  generate:\n  - {entry}\n")
    assert rows == []
    assert problem.message.endswith("exactly one of expression or template must be set")


def test_what_becomes_of_the_objects_later_is_told(run, tmp_path):
    spec = "  evaluation: {synchronize: {enabled: true}}\n  generate: [{expression: 'true'}]"
    run(spec)
    found = open_application(ApplyInputs(policies=(str(tmp_path / "policy.yaml"),)))
    assert found.policies[0].rules[0].facts.upkeep == {"synchronize": True}


@pytest.mark.parametrize(
    ("written", "made"),
    [
        ("{'metadata': null}", {"metadata": None}),
        ("{'metadata': 5}", {"metadata": 5.0}),
        ("{'a': timestamp('2024-01-01T00:00:00.5Z')}", {"a": "2024-01-01T00:00:00.5Z"}),
        ("{'a': duration('1500ms')}", {"a": "1.5s"}),
    ],
)
def test_objects_are_taken_as_they_are(run, written, made):
    _, objects, _ = run(f"  generate: [{{expression: \"generator.Apply('', [{written}])\"}}]")
    assert objects == [made]
    _, objects, _ = run(f"  generate: [{{expression: \"generator.Apply('ns', [{written}])\"}}]")
    placed = made if "metadata" in made else {**made, "metadata": {"namespace": "ns"}}
    assert objects == [placed]


def test_what_is_no_object_is_told_by_the_place_of_the_argument(run):
    written = "[{'a': optional.none()}]"
    spec = '  generate: [{expression: "generator.Apply(%s)"}]'
    (row,), _, _ = run(spec % f"'ns', {written}")
    assert row[2] == "failed to evaluate policy: invalid arg 2: optional.none() dereference"
    (row,), _, _ = run(spec % written, POD % "shop", NAMESPACED)
    assert row[2] == "failed to evaluate policy: invalid arg 1: optional.none() dereference"


# template


@pytest.fixture
def render(system):
    def call(text, *, interpolates=True):
        env = kyverno_environment("GeneratingPolicy", system.clock, system.entropy)
        template = compile_template(text, Compiler(KyvernoScope(env)), interpolates=interpolates)
        given = {"object": {"metadata": {"name": "team-a", "labels": {"a": "b"}}}}
        return template.render([given.get(name) for name, _ in env.variables])

    return call


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("(( object.metadata.name ))", "team-a"),
        ("(( 1 + 2 ))", 3),
        ("(( 3u ))", 3),
        ("(( 1.5 ))", 1.5),
        ("(( [1, object.metadata.labels] ))", [1.0, {"a": "b"}]),
        ("(( null ))", None),
        ("(( object.metadata.labels ))", {"a": "b"}),
        ("x(( 1 ))y(( 2.5 ))(( true ))", "x1y2.5true"),
        ("x(( 1e21 ))", "x1e+21"),
        (r"'a \((b)) c'", "a ((b)) c"),
        (r"'\((1)) (( 1 ))'", "((1)) 1"),
        ("(( ((1) + (2)) ))", 3),
        ('(( "))" ))', "))"),
        (r"""'(( "\"))" ))'""", '"))'),
        ("|\n    one (( 1 ))\n    two", "one 1\ntwo\n"),
        ("[(( 1 )), x(( 2 ))]", [1, "x2"]),
        ("yes", "yes"),
    ],
)
def test_placeholders(render, written, value):
    text = f"kind: K\nother: (( 0 ))\nv: {written}\n"
    assert repr(render(text)) == repr([{"kind": "K", "other": 0, "v": value}])


def test_a_document_may_be_one_placeholder_and_there_may_be_several(render):
    text = "(( object ))\n---\n# nothing\n---\na: 1\n"
    first, second = render(text)
    assert (first["metadata"]["name"], second) == ("team-a", {"a": 1})


def test_nothing_is_replaced_where_nothing_is_to_be(render):
    text = "a: (( 1 + 2 ))\n(( b )): 'x \\((y))'\n"
    assert render(text, interpolates=False) == [{"a": "(( 1 + 2 ))", "(( b ))": "x \\((y))"}]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "template must contain at least one YAML document"),
        ("- a\n", "line 1: document must be a mapping describing a resource"),
        ("x(( 1 ))\n", "line 1: document must be a mapping describing a resource"),
        ("a: x(( {'b': 1} ))\n", "failed to parse YAML: yaml: line 1: mapping values are not"),
        ("a: 1\nb: ((\n", "line 2: unterminated placeholder starting at offset 0: missing closing"),
        ("a: é (( 1\n", "line 1: unterminated placeholder starting at offset 3: missing closing"),
        ("a: (( ' ))\n", "line 1: unterminated string literal in placeholder starting at offset 0"),
        ("a: (( 1) ))\n", "line 1: unbalanced parenthesis in placeholder starting at offset 0"),
        ("a: x((  ))\n", "line 1: empty placeholder at offset 1"),
        ("a: 1\n(( b )): 1\n", "line 2: placeholders are not supported in mapping keys; use a"),
        ("a: &x {b: 1}\nc: {<<: *x, d: (( 1 ))}\n", "line 2: YAML merge keys are not supported"),
        ("? [a]\n: (( 1 ))\n", "line 1: only scalar mapping keys are supported"),
        ("a: (( 1 + ))\n", 'line 1: invalid placeholder expression "1 +": ERROR: <input>:1:4: '),
    ],
)
def test_what_is_no_template(render, text, message):
    with pytest.raises(TemplateError) as caught:
        render(text)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "a: {b: [1, (( object.zzz ))]}\n",
            (
                'document 1: field "a": field "b": item 1: failed to evaluate placeholder '
                '"object.zzz": no such key: zzz'
            ),
        ),
        (
            "a: 1\n---\nb: (( optional.none() ))\n",
            (
                'document 2: field "b": failed to convert placeholder "optional.none()" result: '
                "optional.none() dereference"
            ),
        ),
        (
            "a: x(( [1] ))\n",
            (
                'document 1: field "a": placeholder "[1]" embedded in a string must evaluate to a '
                "scalar, got []interface {}; use a whole-value placeholder for structured results"
            ),
        ),
        (
            "a: (( 18446744073709551615u ))\n",
            (
                'document 1: field "a": failed to convert placeholder '
                '"18446744073709551615u" result: '
                "uint value 18446744073709551615 overflows the supported integer range"
            ),
        ),
        ("(( 1 ))\n", "document 1: expected a mapping describing a resource, got int64"),
    ],
)
def test_what_cannot_be_rendered(render, text, message):
    with pytest.raises(EvaluationError) as caught:
        render(text)
    assert str(caught.value) == message
