"""Real messages of an editor to `kyvsim lsp`, and what it answers."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
POLICY = """\
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata:
  name: named
spec:
  rules:
    - name: cart
      match:
        any:
          - resources:
              kinds: [Pod]
      validate:
        failureAction: Enforce
        message: it is called otherwise
        pattern:
          metadata:
            =(name): cart
"""
EXCEPTION = """\
apiVersion: kyverno.io/v2
kind: PolicyException
metadata:
  name: but-this
  namespace: shop
spec:
  exceptions:
    - policyName: named
      ruleNames:
        - cart
        - autogen-cart
  match:
    any:
      - resources:
          kinds: [Pod]
"""
TEST = """\
apiVersion: cli.kyverno.io/v1alpha1
kind: Test
metadata:
  name: carts
policies:
  - policies/named.yaml
resources:
  - pods.yaml
results:
  - policy: named
    rule: cart
    resources:
      - cart
    kind: Pod
    result: pass
"""
POD = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: cart\n"
VALUES = """\
apiVersion: cli.kyverno.io/v1alpha1
kind: Values
metadata:
  name: values
policies:
  - name: named
    rules:
      - name: cart
        values: {a: b}
"""
FILES = {
    "policies/named.yaml": POLICY,
    "exceptions.yaml": EXCEPTION,
    "kyverno-test.yaml": TEST,
    "pods.yaml": POD,
    "values.yaml": VALUES,
}
BINDING = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: bound
spec:
  policyName: replicas
  validationActions: [Deny]
"""
NATIVE = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: replicas
spec:
  matchConstraints:
    resourceRules:
      - {apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}
  validations:
    - expression: object.spec.replicas <= 3 && si
"""


def codes(remarks):
    return [one.code for one in remarks]


def place_of(text, word, after=0):
    """Return line and column, from 0, behind a word of a text."""
    at = text.index(word, after) + len(word)
    return text.count("\n", 0, at), at - text.rfind("\n", 0, at) - 1


def test_a_good_policy_has_no_remarks_and_a_bad_one_has_them_as_lint_says(edit):
    editor = edit(FILES)
    assert editor.open("policies/named.yaml") == []
    worse = POLICY.replace("validate:", "valdate:")
    found = editor.type("policies/named.yaml", worse)
    assert "KV012" in codes(found)
    one = found[codes(found).index("KV012")]
    line, column = place_of(worse, "valdate")
    assert (one.range.end.line, one.range.end.character) == (line, column)
    assert one.range.start.character == column - len("valdate")
    assert one.severity == editor.types.DiagnosticSeverity.Error
    assert one.source == "kyvsim"
    (editor.folder / "policies/named.yaml").write_text(worse, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "kyvsim", "lint", "policies/named.yaml"],
        cwd=editor.folder,
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert one.message in " ".join(done.stdout.split()).replace(" | ", " ")
    assert editor.type("policies/named.yaml", POLICY) == []


@pytest.mark.slow
def test_a_half_typed_document_has_its_error_and_completions(edit):
    editor = edit({})
    text = POLICY + "      exclude: {any\n        "
    found = editor.open("new.yaml", text)
    assert codes(found) == ["KV006"]
    lines = text.split("\n")
    assert found[0].range.start.line in {len(lines) - 1, len(lines) - 2}
    text = POLICY + "      exc\n"
    editor.type("new.yaml", text)
    labels = editor.labels("new.yaml", *place_of(text, "      exc"))
    assert "exclude" in labels
    assert "match" not in labels


@pytest.mark.slow
def test_files_that_are_none_of_kyvernos_give_nothing(edit):
    editor = edit({})
    assert editor.open("pod.yaml", "kind: [x\n") == []
    assert editor.open("notes.txt.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {}\n") == []
    assert editor.open("pod-of-kyverno.yaml", f"{POD}# kyverno\n") == []


@pytest.mark.slow
def test_characters_are_counted_as_the_editor_does(edit):
    editor = edit({})
    text = POLICY.replace("message: it", "message: 😀😀").replace(
        "failureAction: Enforce", '"😀": 1'
    )
    found = editor.open("new.yaml", text)
    one = next(one for one in found if one.code == "KV012")
    assert (one.range.start.character, one.range.end.character) == (8, 12)


@pytest.mark.slow
def test_files_beside_an_open_one_count_and_are_read_again(edit):
    native = NATIVE.replace(" && si", "")
    editor = edit({**FILES, "native.yaml": native.replace("name: replicas", "name: copies")})
    editor.open("binding.yaml", BINDING)
    found = editor.save("binding.yaml")
    assert any("replicas" in one.message for one in found)
    (editor.folder / "native.yaml").write_text(native, encoding="utf-8")
    assert editor.save("binding.yaml") == []
    again = POLICY.replace("Enforce", "Audit")
    found = editor.open("again.yaml", again)
    assert any("policies/named.yaml" in one.message for one in found)


@pytest.mark.slow
def test_other_files_are_checked_for_their_form(edit):
    editor = edit(FILES)
    assert editor.open("kyverno-test.yaml") == []
    found = editor.type("kyverno-test.yaml", TEST.replace("policies:", "polices:", 1))
    assert any("polices" in one.message for one in found)
    values = "apiVersion: cli.kyverno.io/v1alpha1\nkind: Values\nmetadata: {name: v}\npolicis: []\n"
    assert any("policis" in one.message for one in editor.open("values.yaml", values))


@pytest.mark.slow
def test_a_configuration_counts(edit):
    old = POLICY.replace("spec:\n", "spec:\n  validationFailureAction: Audit\n")
    files = {".kyvsim.yaml": "strict: true\npolicies: [policies]\n", "policies/named.yaml": old}
    editor = edit(files, cwd=ROOT)
    found = editor.open("policies/named.yaml")
    assert "KV202" in codes(found)
    assert {one.severity for one in found} == {editor.types.DiagnosticSeverity.Error}


@pytest.mark.slow
def test_exceptions_of_a_configuration_count(edit):
    files = {
        ".kyvsim.yaml": "policies: [policies]\nexceptions: [others/exceptions.yaml]\n",
        "policies/named.yaml": POLICY,
        "others/exceptions.yaml": EXCEPTION,
        "others/passed-by.yaml": EXCEPTION,
    }
    editor = edit(files)
    editor.open("again.yaml", EXCEPTION)
    (found,) = editor.save("again.yaml")
    assert found.code == "KV208"
    assert "others/exceptions.yaml" in found.message


@pytest.mark.slow
def test_a_wrong_configuration_is_told_at_its_place(edit):
    editor = edit({".kyvsim.yaml": "strct: true\n", **FILES})
    editor.open("policies/named.yaml")
    editor.versions[".kyvsim.yaml"] = None
    found = editor.remarks(".kyvsim.yaml")
    assert codes(found) == ["KV095"]
    assert "did you mean `strict`" in found[0].message


@pytest.mark.slow
def test_fields_values_and_kinds_are_completed(edit):
    editor = edit({})
    text = "apiVersion: kyverno.io/v1\nkind: Cl\n"
    editor.open("new.yaml", text)
    assert "ClusterPolicy" in editor.labels("new.yaml", 1, 8)
    text = POLICY.replace("failureAction: Enforce", "fa")
    editor.type("new.yaml", text)
    found = editor.complete("new.yaml", *place_of(text, "\n        fa"))
    one = next(one for one in found if one.label == "failureAction")
    assert one.text_edit.new_text == "failureAction: "
    assert one.text_edit.range.start.character == 8
    text = POLICY.replace("Enforce", "")
    editor.type("new.yaml", text)
    assert {"Audit", "Enforce"} <= {*editor.labels("new.yaml", *place_of(text, "Action: "))}


@pytest.mark.slow
def test_operators_are_completed_and_explained(edit):
    editor = edit({})
    text = POLICY[: POLICY.index("        pattern:")]
    text += "        deny:\n          conditions:\n            any:\n"
    text += '              - key: "{{ to_u(request.object.metadata.name) }}"\n'
    text += "                operator: AnyIn\n"
    editor.open("new.yaml", text)
    assert "AllNotIn" in editor.labels("new.yaml", *place_of(text, "operator: "))
    assert "true if" in editor.hover("new.yaml", *place_of(text, "operator: Any"))
    found = editor.complete("new.yaml", *place_of(text, "{{ to_u"))
    one = next(one for one in found if one.label == "to_upper")
    assert "to_upper(string)" in one.detail
    text = text.replace("to_u(", "to_upper(")
    editor.type("new.yaml", text)
    assert "to_upper(string)" in editor.hover("new.yaml", *place_of(text, "{{ to_u"))


@pytest.mark.slow
def test_cel_is_completed_and_explained(edit):
    editor = edit({})
    editor.open("native.yaml", NATIVE)
    labels = editor.labels("native.yaml", *place_of(NATIVE, "&& si"))
    assert "size" in labels
    assert "object" in labels
    text = NATIVE.replace("&& si", "&& size(object.spec.template.spec.containers) > 0")
    assert editor.type("native.yaml", text) == []
    assert "size(" in editor.hover("native.yaml", *place_of(text, "&& si"))


@pytest.mark.slow
def test_rules_and_fields_are_explained(edit):
    editor = edit(FILES)
    editor.open("policies/named.yaml")
    told = editor.hover("policies/named.yaml", *place_of(POLICY, "- name: ca"))
    assert "**validate** of ClusterPolicy named, on `Pod`" in told
    assert "failures: Enforce" in told
    assert "`autogen-cart`" in told
    told = editor.hover("policies/named.yaml", *place_of(POLICY, "failureAct"))
    assert "string" in told
    assert "`Enforce`" in told


@pytest.mark.slow
def test_a_remark_is_explained_where_it_stands_and_nowhere_else(edit):
    editor = edit({})
    text = POLICY.replace("spec:\n", "spec:\n  validationFailureAction: Enforce\n", 1)
    text = text.replace("        failureAction: Enforce\n", "")
    (one,) = editor.open("old.yaml", text)
    assert one.code == "KV202"
    assert [*one.tags] == [editor.types.DiagnosticTag.Deprecated]
    told = editor.hover("old.yaml", *place_of(text, "validationFail"))
    assert told.startswith("**KV202**: deprecated field\n")
    bad, good = told.split("Bad:")[1].split("Good:")
    assert "  validationFailureAction: Enforce" in bad
    assert "      failureAction: Enforce" in good
    field = told.split("\n---\n")[1]
    assert "`Audit`" in field
    assert "KV202" not in editor.hover("old.yaml", *place_of(text, "metada"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "word", "found"),
    [
        ("kyverno-test.yaml", "  - policies/na", [("policies/named.yaml", 1)]),
        ("kyverno-test.yaml", "policy: na", [("policies/named.yaml", 4)]),
        ("kyverno-test.yaml", "rule: ca", [("policies/named.yaml", 7)]),
        ("kyverno-test.yaml", "      - ca", [("pods.yaml", 4)]),
        ("exceptions.yaml", "policyName: na", [("policies/named.yaml", 4)]),
        ("exceptions.yaml", "    - ca", [("policies/named.yaml", 7)]),
        ("exceptions.yaml", "    - autogen-ca", [("policies/named.yaml", 7)]),
        ("kyverno-test.yaml", "  - pods", [("pods.yaml", 1)]),
        ("values.yaml", "  - name: na", [("policies/named.yaml", 4)]),
        ("values.yaml", "      - name: ca", [("policies/named.yaml", 7)]),
        ("exceptions.yaml", "namespace: sh", []),
    ],
)
def test_names_lead_to_what_they_name(edit, name, word, found):
    editor = edit(FILES)
    editor.open(name)
    assert editor.define(name, *place_of(FILES[name], word)) == found


@pytest.mark.slow
def test_bindings_lead_to_their_policies(edit):
    editor = edit({"native.yaml": NATIVE.replace(" && si", "")})
    editor.open("binding.yaml", BINDING)
    assert editor.define("binding.yaml", *place_of(BINDING, "policyName: re")) == [
        ("native.yaml", 4)
    ]


@pytest.mark.slow
def test_nothing_outside_of_the_folder_is_read(edit, tmp_path):
    (tmp_path / "outside.yaml").write_text(POLICY, encoding="utf-8")
    inside = TEST.replace("policies/named.yaml", "../outside.yaml")
    editor = edit({"kyverno-test.yaml": inside})
    editor.open("kyverno-test.yaml")
    assert editor.define("kyverno-test.yaml", *place_of(inside, "  - ../out")) == []
    assert editor.define("kyverno-test.yaml", *place_of(inside, "policy: na")) == []


@pytest.mark.slow
def test_symbols_are_policies_with_their_rules(edit):
    editor = edit(FILES)
    editor.open("policies/named.yaml")
    found = editor.symbols("policies/named.yaml")
    assert [(one.name, one.detail) for one in found] == [("named", "ClusterPolicy")]
    assert [one.name for one in found[0].children] == ["cart"]


@pytest.mark.slow
def test_a_pattern_that_is_none_is_told_where_it_is_set(edit):
    editor = edit({".kyvsim.yaml": "exclude: ['!']\n", **FILES})
    editor.versions[".kyvsim.yaml"] = None
    (found,) = editor.remarks(".kyvsim.yaml")
    assert (found.code, found.range.start.line) == ("KV096", 0)
    assert editor.open("policies/named.yaml") == []
    assert editor.logged == []
    done = subprocess.run(
        [sys.executable, "-m", "kyvsim", "lsp", "--exclude", "!"],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "error: --exclude " in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("origin", ["a file", "a variable"])
def test_a_wrong_setting_leaves_the_others(edit, origin, monkeypatch):
    configured = "lsp:\n  exclude: [policies]\n"
    if origin == "a file":
        configured += "  max-files: many\n"
    else:
        monkeypatch.setenv("KYVSIM_LSP_MAX_FILES", "many")
    editor = edit({".kyvsim.yaml": configured, **FILES})
    if origin == "a file":
        editor.versions[".kyvsim.yaml"] = None
        (found,) = editor.remarks(".kyvsim.yaml")
        assert (found.code, found.range.start.line) == ("KV096", 2)
    assert editor.open("policies/named.yaml") == []
    assert editor.logged == []


ODD = (
    "",
    "\n\n---\n---\n",
    "\t\tkyverno\n",
    "kyverno: [" * 500,
    "- - - - kyverno:\n  -\n -\n",
    "kyverno: &a [*a]\n",
    "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nspec: 7\nmetadata: []\n",
    "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nspec:\n  rules: {a: b}\n",
    "kyverno: \x07\u2028😀\n\r\n",
    '{"apiVersion": "kyverno.io/v1", "kind": "ClusterPolicy"}',
)


@pytest.mark.slow
def test_odd_texts_and_questions_cost_only_themselves(edit):
    editor = edit(FILES)
    editor.open("odd.yaml", "")
    for text in ODD:
        editor.type("odd.yaml", text)
        for line, column in ((0, 0), (0, 3), (2, 9), (999, 999)):
            editor.complete("odd.yaml", line, column)
            editor.hover("odd.yaml", line, column)
            editor.define("odd.yaml", line, column)
        editor.symbols("odd.yaml")
        assert editor.labels("never-opened.yaml", 0, 0) is not None
    assert editor.logged == []
    assert editor.open("policies/named.yaml") == []


BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n"
    for before, name in zip("abcdefghijk", "bcdefghijkl", strict=True)
)


@pytest.mark.slow
def test_hostile_texts_and_files_do_not_stall_it(edit):
    editor = edit(FILES)
    (editor.folder / "latin.yaml").write_bytes(b"apiVersion: kyverno.io/v1\nkind: \xff\xfe\n")
    editor.open("policies/named.yaml")
    editor.save("policies/named.yaml")
    large = POLICY + "# kyverno\n" * 110_000
    (found,) = editor.open("large.yaml", large)
    assert (found.code, found.severity) == ("KV065", editor.types.DiagnosticSeverity.Information)
    assert "kyvsim lint" in found.message
    assert editor.labels("large.yaml", 5, 3) is not None
    assert editor.symbols("large.yaml") == []
    assert editor.type("large.yaml", POLICY) != []  # the same policy twice
    editor.open("pod.yaml", f"{POD}{BOMB}")
    editor.type("pod.yaml", f"{POD}spec: &a {{b: *a}}\n")
    editor.type("pod.yaml", f"{POD}spec: {'[' * 20_000}\n")
    editor.type("pod.yaml", f"{POD}# {'x' * 300_000} {'{{' * 1000}\n")
    editor.complete("pod.yaml", 4, 300_000)
    editor.open("bomb.yaml", POLICY.replace("name: named", "name: bomb") + BOMB)
    assert editor.type("pod.yaml", POD) == []
    assert editor.logged == []


@pytest.mark.slow
def test_the_server_ends_as_editors_ask(edit):
    editor = edit(FILES)
    editor.open("policies/named.yaml")
    assert editor.end() == 0


@pytest.mark.slow
@pytest.mark.parametrize("body", [b"{nonsense", b'{"jsonrpc": "2.0", "method": "\xff\xfe"}'])
def test_a_message_that_is_no_json_does_not_end_it(body):
    exit_ = b'{"jsonrpc": "2.0", "method": "exit"}'
    given = b"".join(b"Content-Length: %d\r\n\r\n%s" % (len(one), one) for one in (body, exit_))
    done = subprocess.run(
        [sys.executable, "-m", "kyvsim", "lsp"],
        cwd=ROOT,
        input=given,
        capture_output=True,
        check=False,
    )
    assert b"Traceback" not in done.stderr


@pytest.mark.slow
def test_without_its_extra_the_command_says_what_to_install():
    code = (
        "import sys; sys.modules['pygls'] = None;"
        "from kyvsim.cli.main import run; sys.exit(run(['lsp']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr == "error: this needs the package pygls: pip install 'kyvsim[lsp]'\n"


def applied(text, edits):
    """Return a text with the edits of an action."""
    lines = text.split("\n")
    for one in sorted(edits, key=lambda one: one.range.start.line, reverse=True):
        start, end = one.range.start, one.range.end
        before, after = lines[start.line][: start.character], lines[end.line][end.character :]
        lines[start.line : end.line + 1] = (before + one.new_text + after).split("\n")
    return "\n".join(lines)


@pytest.mark.slow
def test_what_lint_can_fix_is_an_action_of_its_remark(edit):
    editor = edit({})
    old = POLICY.replace("        failureAction: Enforce\n", "").replace(
        "spec:\n", "spec:\n  validationFailureAction: Enforce\n", 1
    )
    found = editor.open("old.yaml", old)
    assert "KV202" in codes(found)
    line = next(one.range.start.line for one in found if one.code == "KV202")
    (action,) = editor.actions("old.yaml", line)
    assert [one.code for one in action.diagnostics] == ["KV202"]
    assert not editor.actions("old.yaml", 1)
    (changed,) = action.edit.document_changes
    assert changed.text_document.version == 1
    now = applied(old, changed.edits)
    assert "failureAction: Enforce" in now
    assert editor.type("old.yaml", now) == []


@pytest.mark.slow
def test_a_suggested_name_is_an_action_and_codes_link_to_their_descriptions(edit):
    editor = edit(FILES)
    wrong = POLICY.replace("pattern:", "patern:").replace("[Pod]", "[Pods]")
    found = {one.code: one for one in editor.open("new.yaml", wrong)}
    place = found["KV012"].range.start.line
    (action,) = editor.actions("new.yaml", place)
    assert action.title == "use pattern"
    assert action.is_preferred  # a slip of the pen
    (changed,) = action.edit.document_changes
    assert applied(wrong, changed.edits) == wrong.replace("patern:", "pattern:")

    link = found["KV012"].code_description.href
    file, line = link.removeprefix("file://").split("#L")
    assert (
        Path(file).read_text(encoding="utf-8").splitlines()[int(line) - 1].startswith("## KV012 ")
    )
