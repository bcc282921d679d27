"""Errors whose message is Kyverno's, or Go's, have a second line with the cause and the remedy."""

import pytest

from kyvsim.api.lint import lint

POLICY = """apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: p}
spec:
  rules:
  - name: r
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
"""


def noted(tmp_path, text):
    path = tmp_path / "p.yaml"
    path.write_text(text)
    return [(one.code, *one.excerpt) for one in lint([str(path)]).diagnostics if one.excerpt]


def denies(key):
    return f"""{POLICY}    validate:
      message: m
      deny: {{conditions: {{any: [{{key: {key}, operator: Equals, value: x}}]}}}}
"""


@pytest.mark.parametrize("text", ["a: {{ x }}", "- {{ x }}", "a: {{ x }}-b", "a: [{{ x }}]"])
def test_a_variable_without_quotes(tmp_path, text):
    ((code, note),) = noted(tmp_path, f"{POLICY}    x:\n      {text}\n")
    assert code == "KV006"
    assert "in quotes" in note


def test_yaml_that_is_broken_elsewhere(tmp_path):
    assert noted(tmp_path, f"{POLICY}    x: [\n") == []
    ((_, note),) = noted(tmp_path, f'{POLICY}    x: "{{{{ x }}}}" b\n')
    assert note.endswith("nothing follows a closing quote")


@pytest.mark.parametrize(
    ("query", "meant"),
    [
        ("labels.app.kubernetes.io/name", 'labels."app.kubernetes.io/name"'),
        ("labels.cost-center", 'labels."cost-center"'),
        ("spec.my-field", 'spec."my-field"'),
        ("labels['app']", 'labels."app"'),
    ],
)
def test_a_key_without_quotes(tmp_path, query, meant):
    ((code, note),) = noted(tmp_path, denies(f'"{{{{ request.object.{query} }}}}"'))
    assert code == "KV112"
    assert note.endswith(f"`{meant}`")


def test_a_key_of_a_context_entry(tmp_path):
    context = "    context: [{name: a, variable: {jmesPath: request.object.my-field}}]\n"
    found = noted(tmp_path, denies("x").replace("    validate:", f"{context}    validate:"))
    assert [code for code, _ in found] == ["KV135"]


def test_a_variable_that_is_broken_otherwise(tmp_path):
    assert noted(tmp_path, denies('"{{ request.object..a }}"')) == []


def test_a_helm_template(tmp_path):
    ((code, note),) = noted(tmp_path, denies('"{{`{{ element.name }}`}}"'))
    assert code == "KV112"
    assert "helm template" in note


def test_assertions(tmp_path):
    removed = f"{POLICY}    validate: {{message: m, assert: {{any: []}}}}\n"
    assert [code for code, _ in noted(tmp_path, removed)] == ["KV138"]
    assert noted(tmp_path, f"{POLICY}    validate: {{message: m}}\n") == []


@pytest.mark.parametrize(("value", "found"), [("null", 1), ("true", 0)])
def test_a_label_that_is_set_to_null(tmp_path, value, found):
    patch = f"{{metadata: {{labels: {{a: {value}}}}}}}"
    text = f"{POLICY}    mutate: {{patchStrategicMerge: {patch}}}\n"
    assert len(noted(tmp_path, text)) == found


@pytest.mark.parametrize(
    ("old", "new"), [("overlay", "patchStrategicMerge"), ("patches", "patchesJson6902")]
)
def test_fields_that_were_replaced(tmp_path, old, new):
    path = tmp_path / "p.yaml"
    path.write_text(f"{POLICY}    mutate: {{{old}: {{}}}}\n")
    (one,) = lint([str(path)]).diagnostics
    assert one.message == f"unknown field `spec.rules[0].mutate.{old}`: `{new}` replaced it"


def mutates(operation):
    return f"{POLICY}    mutate: {{patchesJson6902: '- {operation}'}}\n"


@pytest.mark.parametrize(
    ("text", "code", "end"),
    [
        (denies('"{{ request.object.data.a || 0 }}"'), "KV112", "write `` `0` ``"),
        (denies('"{{ a > 0 ? `1` : `2` }}"'), "KV112", "write `a && b || c`"),
        (denies("\"{{ request.object.a ?? 'x' }}\""), "KV112", "a default is `a || 'b'`"),
        (denies("\"{{ request.name == 'a' AND a }}\""), "KV112", "are `&&`, `||` and `!`"),
        (denies("\"{{ to_upper('(' }}\""), "KV112", "is not closed, or closed twice"),
        (denies('"{{ serviceAccount }}"'), "KV112", "did you mean `serviceAccountName`?"),
        (mutates("{op: set, path: /data/a, value: b}"), "KV132", "`replace`, `test`"),
        (
            mutates("{op: add, path: /data/a}"),
            "KV132",
            "`add`, `replace` and `test` need a `value`",
        ),
        (
            f"{POLICY}    validate: {{message: m, pattern: {{data: {{+(a): b}}}}}}",
            "KV131",
            "write `a` for a field that must exist, `=(a)` for one that may be missing",
        ),
        (
            f"{POLICY}    validate: {{message: m, pattern: {{^(data): {{a: b}}}}}}",
            "KV131",
            "write `data` for a map that must exist, `=(data)` for one that may be missing",
        ),
        (denies("x").replace("Equals", '">="'), "KV133", "write `GreaterThanOrEquals`"),
        (
            denies("x").replace("{key: x, operator: Equals, value: x}", "{all: []}"),
            "KV133",
            "`any` and `all` do not contain each other: write one level, side by side",
        ),
        (
            f"{denies('x')}    celPreconditions: [{{name: a, expression: 'true'}}]",
            "KV138",
            "or a policy of `policies.kyverno.io` in CEL",
        ),
        (
            f"{POLICY}    validate: {{message: ${{MESSAGE:=a}}}}",
            "KV006",
            "the output of `envsubst`",
        ),
        (
            f"{POLICY}    validate: {{message: '{{{{ element }}}}', foreach: [{{list: a}}]}}",
            "KV134",
            "name an element in the `message` of a condition of `deny`",
        ),
    ],
)
def test_a_mistake_in_other_words_has_a_remedy(tmp_path, text, code, end):
    ((found, note),) = noted(tmp_path, text)
    assert found == code
    assert note.endswith(end)


@pytest.mark.parametrize(
    "text",
    [
        mutates("{op: add, path: data/a, value: b}"),
        denies("x").replace("Equals", "Equalz"),
        f"{POLICY}    validate: {{message: '{{{{ element }}}}', pattern: {{data: {{}}}}}}",
    ],
)
def test_a_mistake_that_names_its_remedy_has_no_other(tmp_path, text):
    assert noted(tmp_path, text) == []


EXPRESSIONS = """apiVersion: policies.kyverno.io/v1
kind: MutatingPolicy
metadata: {name: p}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
"""


@pytest.mark.parametrize(
    ("text", "end"),
    [
        (
            "mutations: [{patchType: JSONPatch, jsonPatch: {expression: 'JSONPatch{}'}}]",
            "write a list, in brackets",
        ),
        (
            "mutations: [{patchType: ApplyConfiguration, applyConfiguration: {expression: '{}'}}]",
            "write `Object{…}` instead of a map or list",
        ),
        ("auditAnnotations: [{key: a, valueExpression: object.a}]", "with `string(…)`"),
    ],
)
def test_an_expression_of_another_type_has_a_remedy(tmp_path, text, end):
    ((code, note),) = noted(tmp_path, f"{EXPRESSIONS}  {text}\n")
    assert code == "KV150"
    assert note.endswith(end)


def test_a_variable_of_another_tool_as_one_of_some_values(tmp_path):
    path = tmp_path / "p.yaml"
    path.write_text(
        f'{POLICY}    validate: {{failureAction: "${{ACTION}}", message: m, deny: {{}}}}\n'
    )
    (one,) = lint([str(path)]).diagnostics
    assert one.message.endswith("substitute the variable first, such as with `envsubst`")


@pytest.mark.parametrize(
    ("kind", "note"),
    [
        ("ImageValidating", "note: did you mean `verifyImageSignatures`?"),
        ("Validating", "note: only an ImageValidatingPolicy has `verifyImageSignatures`"),
    ],
)
def test_a_typo_of_a_function_that_only_some_kinds_have(tmp_path, kind, note):
    text = EXPRESSIONS.replace("Mutating", kind)
    if kind != "Validating":
        text += "  attestors: [{name: a, notary: {certs: {value: x}}}]\n"
    expression = "verifyImageSignature('a', []) > 0"
    ((*_, last),) = noted(tmp_path, f'{text}  validations: [{{expression: "{expression}"}}]\n')
    assert last == note


def test_the_order_of_the_arguments_of_a_generator(tmp_path):
    generating = EXPRESSIONS.replace("Mutating", "Generating")
    text = "generate: [{expression: 'generator.Apply([object], object.kind)'}]"
    ((*_, note),) = noted(tmp_path, f"{generating}  {text}\n")
    assert note.endswith("`generator.Apply(namespace, [object])`")


@pytest.mark.parametrize(
    ("operations", "line", "column"),
    [
        (["op: remove", "path: /data/a"], 0, 0),
        (["op: add", "path: /data/a", "value: b", "op: set", "path: /data/b"], 4, 11),
        (["op: add", "path: /data/a", "value: b", "op: replace", "path: /data/b"], 5, 17),
        (["op: add", "path: data/c", "value: b"], 2, 17),
    ],
)
def test_an_operation_in_a_block_is_where_the_mistake_is(tmp_path, operations, line, column):
    path = tmp_path / "p.yaml"
    written = [f"{'-' if one.startswith('op') else ' '} {one}" for one in operations]
    head = f"{POLICY}    mutate:\n      patchesJson6902: |-\n"
    path.write_text(head + "".join(f"        {one}\n" for one in written))
    before = head.count("\n")
    found = [one.location for one in lint([str(path)]).diagnostics if one.code == "KV132"]
    places = [(one.line - before, one.column) for one in found]
    assert places == ([(line, column)] if line else [])
