"""Documents and reviews."""

import json

import pytest

from kyvsim.load.documents import AS_RESOURCES, AS_WRITTEN, STRICT, parse_documents, read_documents
from kyvsim.load.files import Source
from kyvsim.model.diagnostic import Diagnostic, Severity


def parse(text, *options):
    found = list(parse_documents(Source("f.yaml", text), *options))
    documents = [one for one in found if not isinstance(one, Diagnostic)]
    remarks = [(one.code, str(one.location)) for one in found if isinstance(one, Diagnostic)]
    return documents, remarks


QUOTE = "must be text, not a whole number (write it in quotes)"


def data(text, *options):
    return [document.data for document in parse(text, *options)[0]]


def test_documents_are_numbered_and_located_in_the_file():
    documents, remarks = parse("# head\n---\na: 1\n---\n---\nb:\n  c: 2\n")
    assert not remarks
    assert [(one.data, one.file, one.number) for one in documents] == [
        ({"a": 1}, "f.yaml", 0),
        ({"b": {"c": 2}}, "f.yaml", 1),
    ]
    assert str(documents[1].locate(("b", "c"))) == "f.yaml:7:3"
    assert str(documents[1].locate(("b", "x"))) == "f.yaml:6:1"


@pytest.mark.parametrize("text", ["", "# none\n", "---\n", "~\n"])
def test_documents_without_content_are_left_out(text):
    assert parse(text) == ([], [])


def test_json():
    assert data('{"a": [1, {"b": null}]}\n') == [{"a": [1, {"b": None}]}]


def test_a_bad_document_does_not_hide_the_others():
    documents, remarks = parse("a: 1\n---\nb: [\n---\nc: 3\n")
    assert [one.data for one in documents] == [{"a": 1}, {"c": 3}]
    assert remarks == [("KV006", "f.yaml:4:1")]


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ('a:\n- b: "*"\n  !c: "*"\n', "`X(key): "),
        ("a: !x\nb: [\n", ""),
        ("a: {{ b }}\n", "put the whole value in quotes"),
    ],
)
def test_notes_on_yaml_that_cannot_be_read(text, note):
    (remark,) = parse_documents(Source("f.yaml", text))
    assert (remark.code, bool(remark.excerpt)) == ("KV006", bool(note))
    assert note in "".join(remark.excerpt)


def test_a_bad_separator_is_told():
    documents, remarks = parse("a: 1\n---\nb: 2\n---foo\nc: 3\n")
    assert [one.data for one in documents] == [{"a": 1}, {"b": 2}]
    assert remarks == [("KV007", "f.yaml:4:1")]


def test_text_after_the_end_of_a_document_is_an_error():
    remark, document = parse_documents(Source("f", "  a: 1\nb: 2\n"))
    assert document.data == {"a": 1}
    assert (remark.code, remark.severity, remark.location.line) == ("KV008", Severity.ERROR, 2)


def test_a_second_json_value_is_an_error():
    assert parse('{"a": 1}\n{"b": 2}\n') == ([], [("KV008", "f.yaml:2:1")])


def test_duplicate_keys_of_policies_are_refused():
    assert parse("a: 1\na: 2\n", STRICT) == ([], [("KV006", "f.yaml:2:1")])


@pytest.mark.parametrize("typing", [AS_RESOURCES, AS_WRITTEN])
def test_duplicate_keys_of_resources_are_told_and_the_last_counts(typing):
    (document,), remarks = parse("a: 1\na: 2\n", typing)
    assert (document.data, remarks) == ({"a": 2}, [("KV006", "f.yaml:2:1")])


def test_a_map_may_override_what_it_merges_in_resources_only():
    text = "x: &x {a: 1, b: 1}\nz:\n  <<: *x\n  a: 2\n"
    assert data(text)[0]["z"] == {"a": 2, "b": 1}
    assert parse(text, STRICT)[1] == [("KV006", "f.yaml:4:3")]
    assert parse(f"{text}  a: 3\n")[1] == [("KV006", "f.yaml:5:3")]


def test_documents_run_together_are_told_from_other_duplicates():
    one = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n"
    remark, _ = parse_documents(Source("f", one + one))
    assert remark.message.endswith(
        '"apiVersion" already set in map: is a line `---` missing before it?'
    )
    assert remark.location.line == 4
    remark, _ = parse_documents(Source("f", f"{one}metadata: {{}}\n"))
    assert remark.message == 'key "metadata" already set in map'


def test_numbers_of_resources_are_floats():
    assert data("a: 1\n", AS_RESOURCES)[0]["a"].__class__ is float


LIST = """\
apiVersion: v1
kind: List
items:
- kind: A
  x: 1
- apiVersion: v1
  kind: List
  items:
  - kind: B
    x: 2
---
kind: C
"""


def test_lists_are_taken_apart():
    documents, remarks = parse(LIST)
    assert not remarks
    assert [(one.data["kind"], one.number) for one in documents] == [("A", 0), ("B", 1), ("C", 2)]
    assert str(documents[0].locate(("x",))) == "f.yaml:5:3"
    assert str(documents[1].locate(("x",))) == "f.yaml:10:5"


def test_items_of_typed_lists_inherit_their_type():
    text = "apiVersion: v1\nkind: PodList\nitems: [{a: 1}, {apiVersion: v2, kind: Other}]\n"
    assert data(text) == [
        {"apiVersion": "v1", "kind": "Pod", "a": 1},
        {"apiVersion": "v2", "kind": "Other"},
    ]


@pytest.mark.parametrize("items", ["[a]", "[]", "x", "null"])
def test_custom_objects_with_items_that_are_no_objects_stay_whole(items):
    assert len(data(f"apiVersion: a.io/v1\nkind: AllowList\nitems: {items}\n")) == 1


@pytest.mark.parametrize("head", ["kind: List", "apiVersion: v1\nkind: PodList"])
@pytest.mark.parametrize(
    ("items", "found"),
    [
        ("null", []),
        ("{a: {b: 1}}", []),
        ("x", []),
        ("[]", []),
        ("[{kind: A}, null]", ["A"]),
        ("[{kind: A}, x, {kind: B}]", ["A", "B"]),
    ],
)
def test_nothing_of_a_list_of_odd_shape_vanishes(head, items, found):
    documents, remarks = parse(f"{head}\nitems: {items}\n")
    assert [one.data["kind"] for one in documents] == found
    assert [code for code, _ in remarks] == ["KV027"]


def test_a_list_of_any_version_is_taken_apart():
    assert data("apiVersion: v7\nkind: List\nitems: [{kind: A}]\n") == [{"kind": "A"}]


def test_reading_goes_on_after_missing_files(tmp_path):
    (tmp_path / "a.yaml").write_text("a: 1\n", encoding="utf-8")
    documents, remarks = read_documents([f"{tmp_path}/zzz", f"{tmp_path}/a.yaml", "-"], b"b: [")
    assert [one.data for one in documents] == [{"a": 1}]
    assert [one.code for one in remarks] == ["KV001", "KV006"]


def test_lists_may_be_nested_deeply():
    depth = 90
    start, end = '{"apiVersion": "v1", "kind": "List", "items": [', "]}"
    documents, _ = parse(start * depth + '{"kind": "A"}' + end * depth)
    assert [one.data for one in documents] == [{"kind": "A"}]
    assert documents[0].locate(("kind",)).line == 1


def test_an_empty_file_is_a_mistake_where_it_was_asked_for_by_name(tmp_path):
    (tmp_path / "a.yaml").write_text("a: 1\n", encoding="utf-8")
    (tmp_path / "b.yaml").write_text("", encoding="utf-8")
    documents, remarks = read_documents([str(tmp_path)])
    assert ([one.data for one in documents], remarks) == ([{"a": 1}], ())
    (remark,) = read_documents([f"{tmp_path}/a.yaml", f"{tmp_path}/b.yaml"])[1]
    assert (remark.code, remark.location.file) == ("KV009", f"{tmp_path}/b.yaml")


@pytest.mark.parametrize("end", ["\r", "\x85", "\u2028"])
def test_a_document_that_a_comment_hides_is_an_error(end):
    text = end.join(("# head", "kind: Pod", "metadata: {name: a}", ""))
    assert parse(text) == ([], [("KV044", "f.yaml:1:1")])
    assert parse(f"a: 1\n---\n{text}")[1] == [("KV044", "f.yaml:3:1")]
    assert parse(f"a: 1\n--- # note{end}b: 2\n")[1] == [("KV007", "f.yaml:2:1")]
    assert parse(f"# one{end}# two") == ([], [])
    assert [code for code, _ in parse("a: 1\r---\rb: 2\r")[1]] == ["KV008"]


@pytest.mark.parametrize(
    ("text", "code", "severity", "said"),
    [
        ("a: {{ .Values.x }}\n", "KV024", Severity.ERROR, "`helm template`"),
        ("{{- if .Values.on }}\na: 1\n{{- end }}\n", "KV024", Severity.ERROR, "`helm template`"),
        ('a: "{{ .Release.Name }}-x"\n', "KV024", Severity.WARNING, "`helm template`"),
        ("a:\n\tb: 1\n", "KV006", Severity.ERROR, "found a tab, but YAML is indented with spaces"),
    ],
)
def test_texts_of_other_tools_are_named(text, code, severity, said):
    remark = next(one for one in parse_documents(Source("f", text)) if isinstance(one, Diagnostic))
    assert (remark.code, remark.severity) == (code, severity)
    assert said in remark.message


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("a: 1 # {{ .Values.x }}\n", []),
        ("# {{- if .Values.on }}\na: 1\n# {{- end }}\n", []),
        ("kind: ConfigMap\ndata: {a: '{{ .Values.x }}'}\n", []),
        ("kind: Secret\nstringData: {a: '{{ include \"x\" . }}'}\n", []),
        ("a: |\n  x\n  {{ .Values.x }}\n", []),
        ("kind: ConfigMap\nmetadata:\n  name: '{{ .Release.Name }}'\n", ["f:3:3"]),
        ("# {{ .Values.x }}\nb: 1\na:\n- '{{ .Values.x }}'\n", ["f:4:3"]),
        ("'{{ .Values.x }}': b\n", ["f:1:1"]),
        (
            (
                "kind: List\nitems:\n- kind: ConfigMap\n  data: {a: '{{ .Values.x }}'}\n"
                "- kind: Pod\n  data: {a: '{{ .Values.x }}'}\n"
            ),
            ["f:6:10"],
        ),
    ],
)
def test_helm_expressions_that_are_in_no_place_of_a_template_are_ordinary(text, places):
    found = [one for one in parse_documents(Source("f", text)) if isinstance(one, Diagnostic)]
    assert [(one.code, str(one.location)) for one in found] == [("KV024", one) for one in places]


def test_a_helm_expression_in_a_comment_does_not_explain_a_broken_text():
    text = "a: 1 # {{ .Values.x }}\n b: 2\n"
    (found,) = [one for one in parse_documents(Source("f", text)) if isinstance(one, Diagnostic)]
    assert found.code == "KV006"


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("a: *:latest\n", "`*` and `&` begin an alias or anchor"),
        ("a: &:x\n", "`*` and `&` begin an alias or anchor"),
        ("a: @.name\n", "a value that begins so has to be in quotes"),
        ("a: `b`\n", "a value that begins so has to be in quotes"),
        ("a: b: c\n", "a value with `: ` has to be in quotes"),
        ("a:\n  b: 1\n c: 2\n", "fields of one map have the same indentation"),
        ("a:\n  - b\n c: 2\n", "have the same indentation"),
    ],
)
def test_errors_of_the_parser_have_a_usual_cause(text, note):
    (found,) = [one for one in parse_documents(Source("f", text)) if isinstance(one, Diagnostic)]
    assert found.code == "KV006"
    assert note in found.excerpt[0]


@pytest.mark.parametrize("text", ["a:\n\tb: 1\n", "a: [\n", "a: 1\na: 2\n"])
def test_other_errors_of_the_parser_have_no_note(text):
    found = [one for one in parse_documents(Source("f", text)) if isinstance(one, Diagnostic)]
    assert [one.excerpt for one in found] == [()]


def test_templates_of_kyverno_are_not_taken_for_helms():
    assert parse('a: "{{ request.object.metadata.name }} {{ include }}"\n')[1] == []


def read(*arguments):
    return [(one.code, one.location.file) for one in read_documents(*arguments)[1]]


def test_empty_input_that_was_asked_for_is_an_error(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.yaml").write_text("# only a comment\n", encoding="utf-8")
    assert read(["-"], b"") == [("KV009", "<stdin>")]
    assert read([f"{tmp_path}/sub/a.yaml"]) == [("KV009", f"{tmp_path}/sub/a.yaml")]
    assert read([str(tmp_path)]) == [("KV009", str(tmp_path))]


# AdmissionReviews: the object that one is about, or why no request can be made of it.

POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "new"}}
OLD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "old"}}


def review(**request):
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}


def found(*documents):
    text = "\n---\n".join(json.dumps(one, indent=1) for one in documents)
    return list(parse_documents(Source("review.json", text)))


def told(one):
    return (one.code, one.location.line, one.message) if isinstance(one, Diagnostic) else one.data


@pytest.mark.parametrize(
    ("request_", "name"),
    [
        ({"operation": "CREATE", "object": POD}, "new"),
        ({"operation": "UPDATE", "object": POD, "oldObject": OLD}, "new"),
        ({"operation": "DELETE", "object": None, "oldObject": OLD}, "old"),
        ({"operation": "CONNECT", "object": POD, "subResource": "exec"}, "new"),
        ({"operation": "CREATE", "object": POD, "oldObject": None, "later": [1]}, "new"),
    ],
)
def test_the_object_is_that_of_the_operation(request_, name):
    (one,) = found(review(**request_))
    assert one.data["metadata"]["name"] == name
    assert one.review["operation"] == request_["operation"]


NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}


@pytest.mark.parametrize(
    ("request_", "old", "new"),
    [
        ({"operation": "CREATE", "object": POD}, None, "shop"),
        ({"operation": "CREATE", "object": {"apiVersion": "v1", "kind": "Pod"}}, None, "shop"),
        ({"operation": "UPDATE", "object": POD, "oldObject": OLD}, "shop", "shop"),
        ({"operation": "DELETE", "oldObject": OLD}, "shop", "shop"),
        ({"operation": "CREATE", "object": NAMESPACE}, None, None),
    ],
)
def test_objects_are_in_the_namespace_of_their_request(request_, old, new):
    (one,) = found(review(**request_, namespace="shop"))
    assert one.data["metadata"].get("namespace") == new
    assert ((one.review.get("oldObject") or {}).get("metadata") or {}).get("namespace") == old


def test_reviews_may_be_items_of_a_list_and_documents_of_a_file():
    made = review(operation="CREATE", object=POD)
    gone = review(operation="DELETE", oldObject=OLD)
    listed = {"apiVersion": "v1", "kind": "List", "items": [made, gone, POD]}
    several = found(listed, gone)
    assert [one.data["metadata"]["name"] for one in several] == ["new", "old", "new", "old"]
    assert [(one.review or {}).get("operation") for one in several] == [
        *("CREATE", "DELETE", None, "DELETE"),
    ]


OPERATIONS = "`CREATE`, `UPDATE`, `DELETE`, `CONNECT`"
CREATED = {"operation": "CREATE", "object": POD}


@pytest.mark.parametrize(
    ("request_", "remarks"),
    [
        ({"object": POD}, [("KV015", 4, "`request.operation` is required")]),
        (
            {"operation": "create", "object": POD},
            [
                (
                    *("KV014", 5),
                    (
                        f"`request.operation` must be one of {OPERATIONS}, not `create`: "
                        "did you mean `CREATE`?"
                    ),
                )
            ],
        ),
        ({"operation": 5}, [("KV013", 5, f"`request.operation` {QUOTE}")]),
        (
            {"operation": "CREATE", "oldObject": OLD},
            [("KV097", 4, "an AdmissionReview for CREATE must have `request.object`")],
        ),
        (
            {"operation": "UPDATE", "object": POD},
            [("KV097", 4, "an AdmissionReview for UPDATE must have `request.oldObject`")],
        ),
        (
            {"operation": "DELETE", "object": POD},
            [("KV097", 4, "an AdmissionReview for DELETE must have `request.oldObject`")],
        ),
        (
            {"operation": "CREATE", "object": {}},
            [("KV097", 4, "an AdmissionReview for CREATE must have `request.object`")],
        ),
        (
            {**CREATED, "userInfo": {"groups": [1, "a", {}]}},
            [
                ("KV013", 15, f"`request.userInfo.groups[0]` {QUOTE}"),
                ("KV013", 17, "`request.userInfo.groups[2]` must be text, not a mapping"),
            ],
        ),
        (
            {**CREATED, "userInfo": {"extra": {"a": "b"}}},
            [("KV013", 15, "`request.userInfo.extra.a` must be a list, not text")],
        ),
        (
            {**CREATED, "dryRun": "no"},
            [("KV013", 13, "`request.dryRun` must be a boolean, not text")],
        ),
        (
            {"operation": "CREATE", "object": {"apiVersion": "v1", "kind": "List", "items": [POD]}},
            [("KV097", 6, "a review must have one object, but `request.object` is of kind List")],
        ),
        (
            {"operation": "CREATE", "object": review(**CREATED)},
            [
                (
                    "KV097",
                    6,
                    (
                        "a review must have one object, but `request.object` is of kind "
                        "AdmissionReview"
                    ),
                )
            ],
        ),
    ],
)
def test_a_review_of_which_no_request_can_be_made_is_told(request_, remarks):
    assert [told(one) for one in found(review(**request_))] == remarks


def gvk(group, version, kind):
    return {"group": group, "version": version, "kind": kind}


def gvr(group, version, resource):
    return {"group": group, "version": version, "resource": resource}


EXEC = {"apiVersion": "v1", "kind": "PodExecOptions", "command": ["sh"]}
OX = {"apiVersion": "farm.example/v1", "kind": "Ox", "metadata": {"name": "a"}}


@pytest.mark.parametrize(
    ("request_", "text"),
    [
        ({"object": POD, "kind": gvk("apps", "v1", "Deployment")}, "`request.kind` is `apps/v1/De"),
        ({"object": POD, "kind": gvk("", "v2", "Pod")}, "of kind `v1/Pod`, which is used"),
        ({"object": POD, "resource": gvr("", "v1", "services")}, "which is served as `v1/pods`"),
        (
            {"object": POD, "resource": gvr("apps", "v1", "pods")},
            "`request.resource` is `apps/v1/p",
        ),
        ({"object": POD, "resource": gvr("", "v1", "cattle")}, "`request.resource` is `v1/cattle`"),
        ({"object": POD, "name": "other"}, "`request.name` is `other`, but `request.object` has"),
        (
            {"object": {**POD, "metadata": {"name": "new", "namespace": "a"}}, "namespace": "b"},
            "`request.namespace` is `b`, but `request.object` has the namespace `a`",
        ),
        ({"operation": "DELETE", "oldObject": OLD, "name": "new"}, "but `request.oldObject` has"),
    ],
)
def test_a_request_that_contradicts_its_object_is_reported(request_, text):
    remark, one = found(review(**{"operation": "CREATE", **request_}))
    assert (remark.code, remark.severity, text in remark.message) == ("KV098", "warning", True)
    assert remark.location.line > 3
    assert one.data["kind"] == "Pod"


@pytest.mark.parametrize(
    "request_",
    [
        {"object": POD, "kind": gvk("", "v1", "Pod"), "resource": gvr("", "v1", "pods")},
        {"object": POD, "name": "", "namespace": "a"},
        {"object": NAMESPACE, "name": "shop", "namespace": "shop"},
        {"object": OX, "kind": gvk("farm.example", "v1", "Ox")},
        {"object": OX, "resource": gvr("farm.example", "v1", "oxen")},
        {
            "operation": "CONNECT",
            "subResource": "exec",
            "name": "new",
            "object": EXEC,
            "kind": gvk("", "v1", "PodExecOptions"),
            "resource": gvr("", "v1", "pods"),
        },
    ],
)
def test_requests_as_an_api_server_sends_them_are_not(request_):
    assert len(found(review(**{"operation": "CREATE", **request_}))) == 1


@pytest.mark.parametrize("request_", [{}, {"response": {"allowed": True}}, {"request": None}])
def test_a_review_has_a_request(request_):
    one = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", **request_}
    assert [told(each)[::2] for each in found(one)] == [("KV015", "`request` is required")]


@pytest.mark.parametrize("value", ["{{ a.b }}", "{{a}}-b", "{{ a || 'b' }}"])
def test_an_unquoted_variable_is_reported_at_its_braces(value):
    _, remarks = parse(f"c: d\nkey: {value}\n", STRICT)
    assert [place for code, place in remarks if code == "KV006"] == ["f.yaml:2:6"]
