"""Every check has a case that it refuses, with the reason as users know it."""

import pytest

from kyvsim.engine.match import CRITERIA
from kyvsim.kubernetes.discovery import NO_KINDS, crd_kinds
from kyvsim.languages import READERS
from kyvsim.languages.classic.validation import check_policy
from kyvsim.load.policy import load_policies
from kyvsim.model.source import Document, Location

KINDS = {"any": [{"resources": {"kinds": ["Pod"]}}]}
AUDIT = {"imageReferences": ["a/*"], "mutateDigest": False}
LABELLED = {"matchLabels": {"a": "b"}}
KEYS = {"entries": [{"keys": {"publicKeys": "k8s://a/b"}}]}


def place(path):
    return Location("/".join(map(str, path)))


def refusals(*rules, kind="ClusterPolicy", metadata=None, kinds=NO_KINDS, **spec):
    data = {
        "apiVersion": "kyverno.io/v1",
        "kind": kind,
        "metadata": {"name": "p", **(metadata or {})},
        "spec": {"rules": list(rules) or [rule()], **spec},
    }
    (policy,), remarks = load_policies([Document(data, "p.yaml", 0, place)], READERS)
    assert remarks == ()
    return check_policy(policy, kinds)


def rule(**changes):
    """Return a rule; what is None is left out."""
    data = {"name": "r", "match": KINDS, "validate": {"deny": {}}, **changes}
    return {name: value for name, value in data.items() if value is not None}


def validating(**body):
    return rule(validate=body)


def mutating(**body):
    return rule(validate=None, mutate=body)


def generating(**body):
    target = {"kind": "ConfigMap", "apiVersion": "v1", "name": "n", "namespace": "ns"}
    data = {**target, "data": {"a": "b"}, **body}
    kept = {name: value for name, value in data.items() if value is not None}
    return rule(validate=None, generate=kept)


def images(*entries):
    return rule(validate=None, verifyImages=list(entries))


def matching(**criteria):
    return rule(match={"any": [{"resources": {"kinds": ["Pod"], **criteria}}]})


def test_a_sound_policy_passes():
    assert refusals() == ()


@pytest.mark.parametrize(
    ("subject", "spec", "code", "where", "reason"),
    [
        (
            rule(),
            {"metadata": {"name": "n" * 64}},
            "KV104",
            "metadata/name",
            "name: Too long: may not be more than 63 bytes",
        ),
        (
            rule(),
            {"generateExistingOnPolicyUpdate": True},
            "KV105",
            "spec/generateExistingOnPolicyUpdate",
            (
                "spec.generateExistingOnPolicyUpdate: Forbidden: remove the deprecated field"
                " and use"
                " spec.generate[*].generateExisting instead"
            ),
        ),
        (
            rule(),
            {"webhookTimeoutSeconds": 31},
            "KV107",
            "spec/webhookTimeoutSeconds",
            (
                "spec.webhookTimeoutSeconds: Invalid value: 31: the timeout value must be"
                " between 1 and"
                " 30 seconds"
            ),
        ),
        (
            rule(),
            {"admission": False, "background": False},
            "KV108",
            "spec/admission",
            "disabling both admission and background processing is not allowed",
        ),
        (
            rule(match={"any": [{**KINDS["any"][0], "clusterRoles": ["admin"]}]}),
            {},
            "KV110",
            "spec/rules/0/match/any/0/clusterRoles",
            (
                "only select variables are allowed in background mode. Set spec.background=false to"
                " disable background mode for this policy rule: invalid variable used at path:"
                " spec/rules[0]/match/any[0]/clusterRoles "
            ),
        ),
        (
            validating(message="by {{ request.userInfo.username }}", deny={}),
            {},
            "KV110",
            "spec/rules/0/validate/message",
            (
                "only select variables are allowed in background mode. Set spec.background=false to"
                " disable background mode for this policy rule: variable"
                " {{ request.userInfo.username }} is not allowed "
            ),
        ),
        (
            matching(names=["{{ request.object.x }}"]),
            {},
            "KV111",
            "spec/rules/0/match/any/0/resources/names/0",
            (
                'policy contains invalid variables: rule "r" should not have variables in match'
                " section"
            ),
        ),
        (
            mutating(patchesJson6902="- {op: remove, path: '/a/{{ request.object.x }}'}"),
            {},
            "KV111",
            "spec/rules/0/mutate/patchesJson6902",
            (
                'policy contains invalid variables: rule "r" should not have variables in'
                " patchesJSON6902 path section"
            ),
        ),
        (
            validating(pattern={"a": "{{ nowhere.x }}"}),
            {},
            "KV112",
            "spec/rules/0/validate/pattern/a",
            (
                "policy contains invalid variables: variable substitution failed for rule r:"
                " variable"
                ' nowhere.x must match regex "request\\.|element|elementIndex|@|images|images\\.|'
                'image\\.|([a-z_0-9]+\\()[^{}]" or patterns []'
            ),
        ),
        (
            validating(message="{{ request.[ }}", deny={}),
            {},
            "KV112",
            "spec/rules/0/validate/message",
            (
                "policy contains invalid variables: variable substitution failed for rule r:"
                " failed to"
                " resolve request.[ at path /validate/message: invalid JMESPath query request.[:"
                " SyntaxError: Incomplete expression"
            ),
        ),
        (
            validating(pattern={"a": "$(./../b)"}),
            {},
            "KV112",
            "spec/rules/0/validate/pattern/a",
            (
                "policy contains invalid variables: variable substitution failed for rule r:"
                " got nil"
                " resolved variable $(./../b) at path /validate/pattern/a: <nil>"
            ),
        ),
        (
            rule(validate=None),
            {},
            "KV121",
            "spec/rules/0",
            (
                "spec.rules[0]: Invalid value: No operation defined in the rule 'r'.(supported"
                " operations: mutate,validate,generate,verifyImages)"
            ),
        ),
        (
            rule(mutate={"patchStrategicMerge": {"a": 1}}),
            {},
            "KV121",
            "spec/rules/0",
            (
                "spec.rules[0]: Invalid value: Multiple operations defined in the rule 'r',"
                " only one"
                " operation (mutate,validate,generate,verifyImages) is allowed per rule"
            ),
        ),
        (
            rule(exclude=KINDS),
            {},
            "KV122",
            "spec/rules/0/exclude/any/0",
            "spec.rules[0]: Invalid value: Rule is matching an empty set",
        ),
        (
            rule(match={"any": [{**KINDS["any"][0], "subjects": [{"kind": "X", "name": "n"}]}]}),
            {"background": False},
            "KV124",
            "spec/rules/0/match/any/0/subjects/0",
            (
                'spec.rules[0].match.any[0].subjects[0].kind: Invalid value: "X": kind must be'
                " 'User', 'Group', or 'ServiceAccount'"
            ),
        ),
        (
            rule(exclude={"any": [{"roles": ["editor"]}]}),
            {"background": False},
            "KV124",
            "spec/rules/0/exclude/any/0/roles/0",
            (
                'spec.rules[0].exclude.any[0].roles[0]: Invalid value: "editor": Role is'
                " expected to be"
                " in namespace:name format"
            ),
        ),
        (
            matching(selector={}),
            {},
            "KV125",
            "spec/rules/0/match/any/0/resources/selector",
            (
                "spec.rules[0].match.any[0].selector: Invalid value: {}: The requirements are not"
                " specified in selector"
            ),
        ),
        (
            # Recorded from Kyverno 1.19.0: all mistakes of a requirement, not the first.
            matching(selector={"matchLabels": {"bad key!": "bad value!"}}),
            {},
            "KV125",
            "spec/rules/0/match/any/0/resources/selector",
            (
                'spec.rules[0].match.any[0].selector: Invalid value: {"matchLabels":{"bad key!":'
                '"bad value!"}}: [key: Invalid value: "bad key!": name part must consist of'
                " alphanumeric characters, '-', '_' or '.', and must start and end with an"
                " alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used"
                " for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]'), values[0][bad"
                ' key!]: Invalid value: "bad value!": a valid label must be an empty string or'
                " consist of alphanumeric characters, '-', '_' or '.', and must start and end with"
                " an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex"
                " used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')]"
            ),
        ),
        (
            rule(match={"any": [{"resources": {"kinds": ["*"]}}]}),
            {},
            "KV126",
            "spec/rules/0/match/any/0/resources/kinds",
            (
                "path: spec.rules[0].match.any[0].kinds: wildcard policy not allowed in background"
                " mode. Set spec.background=false to disable background mode for this policy rule "
            ),
        ),
        (
            rule(match={"any": [{"resources": {"names": ["x"]}}]}),
            {},
            "KV127",
            "spec/rules/0/match",
            (
                "at least one element must be specified in a kind block, the kind attribute is"
                " mandatory when working with the resources element"
            ),
        ),
        (
            validating(
                podSecurity={"level": "baseline", "exclude": [{"controlName": "Capabilities"}]}
            ),
            {},
            "KV128",
            "spec/rules/0/validate/podSecurity/exclude/0",
            (
                'spec.rules[0].podSecurity.exclude[0].controlName: Invalid value: "Capabilities":'
                " exclude.images must be specified for the container level control"
            ),
        ),
        (
            generating(namespace=None),
            {},
            "KV129",
            "spec/rules/0/generate",
            (
                "spec.rules[0].namespace: Forbidden: target namespace must be set for a namespaced"
                " resource"
            ),
        ),
        (
            generating(clone={"name": "c", "namespace": "d"}),
            {},
            "KV129",
            "spec/rules/0/generate",
            (
                "spec.rules[0]: Forbidden: only one of generate patterns(data, clone, cloneList and"
                " foreach) can be specified"
            ),
        ),
        (
            generating(data={"(a)": "b"}),
            {},
            "KV130",
            "spec/rules/0/generate/data/(a)",
            (
                "path: spec.rules[0].generate.data.//(a).: anchors not supported on generate"
                " resources:"
                " unsupported anchor (a)"
            ),
        ),
        (
            validating(pattern={"spec": [{"+(a)": 1}]}),
            {},
            "KV131",
            "spec/rules/0/validate/pattern/spec/0/+(a)",
            "path: spec.rules[0].validate.pattern.//spec0//+(a).: unsupported anchor +(a)",
        ),
        (
            validating(anyPattern=[{}, {"^(a)": {}}]),
            {},
            "KV131",
            "spec/rules/0/validate/anyPattern/1/^(a)",
            (
                "path: spec.rules[0].validate.anyPattern[1].//^(a).: existence anchor should"
                " have value"
                " of type list"
            ),
        ),
        *(
            (
                validating(anyPattern=written),
                {},
                "KV131",
                "spec/rules/0/validate/anyPattern",
                (
                    "path: spec.rules[0].validate.anyPattern.: failed to deserialize anyPattern,"
                    " expect array"
                ),
            )
            for written in (5, True, "a", {})
        ),
        (
            mutating(patchesJson6902="- {op: remove, path: a}"),
            {},
            "KV132",
            "spec/rules/0/mutate/patchesJson6902",
            "path must begin with a forward slash: spec.rules[0]: a",
        ),
        (
            mutating(patchesJson6902="- {op: remove, path: ''}"),
            {},
            "KV132",
            "spec/rules/0/mutate/patchesJson6902",
            "path must begin with a forward slash: spec.rules[0]: ",
        ),
        (
            validating(deny={"conditions": {"any": [{"key": 1, "operator": "Equals"}]}}),
            {},
            "KV133",
            "spec/rules/0/validate/deny/conditions/any/0",
            (
                "path: spec.rules[0].validate.deny.conditions.any[0].: entered value of `key`,"
                " `value`"
                " or `operator` is missing or misspelled"
            ),
        ),
        (
            validating(
                deny={
                    "conditions": [
                        {"key": "{{request.operation}}", "operator": "In", "value": ["GET"]}
                    ]
                }
            ),
            {},
            "KV133",
            "spec/rules/0/validate/deny/conditions/0/value",
            (
                "path: spec.rules[0].validate.deny.conditions[0].value[0]: unknown value 'GET'"
                " found"
                " under the 'value' field. Only the following values are allowed: [CREATE, UPDATE,"
                " DELETE, CONNECT]"
            ),
        ),
        (
            validating(
                foreach=[
                    {
                        "list": "request.object.spec.containers",
                        "deny": {"conditions": {"all": [{"key": 1, "operater": "In", "value": 1}]}},
                    }
                ]
            ),
            {},
            "KV133",
            "spec/rules/0/validate/foreach/0/deny/conditions/all/0",
            (
                "path: spec.rules[0].validate.foreach.deny.conditions.all[0].: entered value of"
                ' `operator` is invalid. valid values: ["Equal" "Equals" "NotEqual" "NotEquals"'
                ' "In" "AnyIn" "AllIn" "NotIn" "AnyNotIn" "AllNotIn" "GreaterThanOrEquals"'
                ' "GreaterThan" "LessThanOrEquals" "LessThan" "DurationGreaterThanOrEquals"'
                ' "DurationGreaterThan" "DurationLessThanOrEquals" "DurationLessThan"]'
            ),
        ),
        (
            images(
                AUDIT
                | {
                    "attestations": [
                        {
                            "type": "a",
                            "attestors": [KEYS],
                            "conditions": [{"all": []}, {"any": [{"key": 1, "value": 1}]}],
                        }
                    ]
                }
            ),
            {},
            "KV133",
            "spec/rules/0/verifyImages/0/attestations/0/conditions/1/any/0",
            (
                "path: spec.rules[0].verifyImages.attestations.conditions.any[0].: entered value of"
                " `key`, `value` or `operator` is missing or misspelled"
            ),
        ),
        (
            validating(message="{{ element.name }}", deny={}),
            {},
            "KV134",
            "spec/rules/0/validate/message",
            "variable 'element.name' present outside of foreach at path /validate/message",
        ),
        (
            rule(context=[{"name": "request.x", "variable": {"value": 1}}]),
            {},
            "KV135",
            "spec/rules/0/context/0",
            (
                "path: spec.rules[0]: entry name request.x is invalid as it conflicts with a"
                " pre-defined variable request"
            ),
        ),
        (
            rule(context=[{"name": "x", "variable": {"jmesPath": "a.["}}]),
            {},
            "KV135",
            "spec/rules/0/context/0/variable/jmesPath",
            "path: spec.rules[0]: failed to parse JMESPath a.[: SyntaxError: Incomplete expression",
        ),
        (
            rule(context=[{"name": "x", "imageRegistry": {"reference": "a/B:c"}}]),
            {},
            "KV135",
            "spec/rules/0/context/0",
            "path: spec.rules[0]: bad image: a/B:c: repository name must be lowercase",
        ),
        (
            mutating(
                foreach=[
                    {
                        "list": "a",
                        "patchStrategicMerge": {},
                        "foreach": [{"list": "b", "patchesJson6902": "[]"}],
                    }
                ]
            ),
            {},
            "KV137",
            "spec/rules/0/mutate/foreach/0",
            (
                "path: spec.rules[0].mutate.foreach[0].: a nested foreach cannot contain other"
                " declarations"
            ),
        ),
        (
            mutating(patchesJson6902="[]", patchStrategicMerge={"a": 1}),
            {},
            "KV137",
            "spec/rules/0/mutate",
            (
                "path: spec.rules[0].mutate.foreach.: only one of `patchStrategicMerge` or"
                " `patchesJson6902` is allowed"
            ),
        ),
        (
            mutating(foreach=[{"list": "a", "patchesJson6902": "[]"}, {"list": "b"}]),
            {},
            "KV137",
            "spec/rules/0/mutate/foreach/1",
            (
                "path: spec.rules[0].mutate.foreach[0]foreach[1].: only one of"
                " `patchStrategicMerge` or"
                " `patchesJson6902` is allowed"
            ),
        ),
        (
            validating(message="nothing else"),
            {},
            "KV138",
            "spec/rules/0/validate",
            (
                "path: spec.rules[0].validate..: one of pattern, anyPattern, deny, foreach,"
                " cel must be"
                " specified"
            ),
        ),
        (
            validating(anyPattern=[]),
            {},
            "KV138",
            "spec/rules/0/validate/anyPattern",
            (
                "path: spec.rules[1].validate..: one of pattern, anyPattern, deny, foreach,"
                " cel must be"
                " specified"
            ),
        ),
        (
            validating(foreach=[{"list": "a"}]),
            {},
            "KV138",
            "spec/rules/0/validate/foreach/0",
            (
                "path: spec.rules[0].validate..: one of pattern, anyPattern, deny, or a nested"
                " foreach"
                " must be specified"
            ),
        ),
        (
            images({"imageReferences": ["a/*"]}),
            {},
            "KV139",
            "spec/rules/0/verifyImages/0/mutateDigest",
            (
                "spec.rules[0].verifyImages[0].mutateDigest: Invalid value: true: mutateDigest"
                " must be"
                " set to false for \u2018Audit\u2019 failure action"
            ),
        ),
        (
            images({**AUDIT, "attestors": [{"entries": [{}]}]}),
            {},
            "KV140",
            "spec/rules/0/verifyImages/0/attestors/0/entries/0",
            (
                "spec.rules[0].verifyImages[0].attestors[0].entries[0]: Invalid value: keys,"
                " certificates, keyless, or a nested attestor is required"
            ),
        ),
        (
            images({"image": "a/*", "issuer": "i", "subject": "s", "mutateDigest": False}),
            {},
            "KV140",
            "spec/rules/0/verifyImages/0",
            (
                "spec.rules[0].verifyImages[0].attestors[0].entries[0].keyless: Invalid value:"
                " Either Rekor URL or roots are required"
            ),
        ),
        (
            validating(pattern={"metadata": {"labels": {"a": True}}}),
            {},
            "KV141",
            "spec/rules/0/validate/pattern/metadata/labels/a",
            (
                "labels and annotations supports only string values, "
                '"use double quotes around the non string values"'
            ),
        ),
        (
            rule(match={}),
            {},
            "KV142",
            "spec/rules/0/match",
            "path: spec.rules[0].match.resources.: match resources not specified",
        ),
        (
            validating(message="«{{request.object.a}}»", deny={}),
            {},
            "KV146",
            "spec/rules/0/validate/message",
            (
                "policy contains invalid variables: variable substitution failed for rule r: failed"
                " to resolve \ufffdrequest.object.a at path /validate/message: invalid JMESPath"
                " query \ufffdrequest.object.a: SyntaxError: Unknown char: '\\ufffd'"
            ),
        ),
        (
            validating(message="→$(./../../name)", deny={}),
            {},
            "KV146",
            "spec/rules/0/validate/message",
            (
                "policy contains invalid variables: variable substitution failed for rule r: got"
                " nil resolved variable \ufffd\ufffd$(./../../name) at path /validate/message:"
                " <nil>"
            ),
        ),
        (
            mutating(
                targets=[{"kind": "Pod", "apiVersion": "v1", "namespace": "other"}],
                patchStrategicMerge={"a": 1},
            ),
            {"kind": "Policy", "metadata": {"namespace": "ns"}},
            "KV144",
            "spec/rules/0/mutate/targets/0",
            (
                'spec.rules[0].targets[0].namespace: Invalid value: "other": This field can be'
                " ignored"
                " or should have value of the namespace where the policy is being created"
            ),
        ),
    ],
)
def test_what_is_refused(subject, spec, code, where, reason):
    first = refusals(subject, **spec)[0]
    assert (first.code, str(first.location), first.message) == (code, where, reason)


@pytest.mark.parametrize(
    ("subject", "spec"),
    [
        (rule(), {"kind": "Policy", "metadata": {"namespace": "ns"}}),
        (rule(match={"any": [{"resources": {"kinds": ["*"]}}]}), {"background": False}),
        (validating(message="{{ request.userInfo.username }}", deny={}), {"background": False}),
        (validating(message="{{ request.object.{{ request.x }}.y }}", deny={}), {}),
        (validating(message="\\{{ anything }} pays $(5 dollars)", deny={}), {}),
        (validating(pattern={"a": "x", "b": "$(./../a)"}), {}),
        (validating(pattern={"a": 5, "b": "$(>=./../a)"}), {}),
        (validating(foreach=[{"list": "a", "pattern": {"x": "{{ element.y }}"}}]), {}),
        (
            rule(
                context=[{"name": "cm", "configMap": {"name": "a", "namespace": "b"}}],
                validate={"pattern": {"a": "{{ cm.data.x }}"}},
            ),
            {},
        ),
        (matching(selector={"matchLabels": {"app?": "*"}}), {}),
        (matching(selector={"matchExpressions": [{"key": "a/b", "operator": "Exists"}]}), {}),
        (rule(exclude={"any": [{"resources": {"kinds": ["Pod"], "names": ["x"]}}]}), {}),
        (rule(exclude={"resources": {"namespaces": ["kube-system"]}}), {}),
        (
            rule(match={"resources": {"kinds": ["Pod"], "selector": LABELLED}}, exclude=KINDS),
            {},
        ),
        (mutating(patchesJson6902="- {op: add, path: /a, value: null}"), {}),
        (mutating(patchesJson6902="- {op: add, path: /a, value: '{{ request.object.x }}'}"), {}),
        (mutating(patchStrategicMerge={}), {}),
        (mutating(patchStrategicMerge={"a": False}), {}),
        (
            mutating(
                targets=[{"kind": "Pod", "apiVersion": "v1"}],
                patchStrategicMerge={"a": "{{ target.x }} {{ request.userInfo.username }}"},
            ),
            {},
        ),
        (generating(), {}),
        (generating(data=None, clone={"name": "c", "namespace": "d"}), {}),
        (images({**AUDIT, "attestors": [KEYS]}), {}),
        (images({"imageReferences": ["a/*"]}), {"validationFailureAction": "Enforce"}),
        (validating(podSecurity={"level": "baseline", "version": "latest"}), {}),
        (validating(deny={"conditions": [{"key": "", "operator": "Equals", "value": ""}]}), {}),
    ],
)
def test_what_is_accepted(subject, spec):
    assert refusals(subject, **spec) == ()


@pytest.mark.parametrize(
    ("variable", "note"),
    [
        ("cmx.data.a", "there is no `cmx`: did you mean `cm`?"),
        ("nowhere.a", "there is no `nowhere`: add a `context` entry with this name"),
        ("cm.a", "the values of a ConfigMap are in `cm.data`"),
        ("object.metadata.name", "write `request.object`"),
        ("target.metadata.name", "only rules with `mutate.targets` have a `target`"),
        ("serviceAccountName", "set `background: false` to read `serviceAccountName`"),
    ],
)
def test_an_unknown_variable_has_a_remedy(variable, note):
    context = [{"name": "cm", "configMap": {"name": "a", "namespace": "b"}}]
    found = refusals(validating(pattern={"a": f"{{{{ {variable} }}}}"}) | {"context": context})
    (error,) = (one for one in found if one.code == "KV112")
    assert error.excerpt[0].startswith("note: ")
    assert error.excerpt[0].endswith(note)


def test_rule_names_are_unique():
    found = refusals(rule(), rule(name="s"), rule())
    assert [(remark.code, str(remark.location)) for remark in found] == [
        ("KV120", "spec/rules/2/name")
    ]


def test_an_empty_any_pattern_is_taken_where_autogen_derives_nothing():
    alone = {"pod-policies.kyverno.io/autogen-controllers": "none"}
    assert refusals(validating(anyPattern=[]), metadata={"annotations": alone}) == ()


def test_a_switch_that_is_off_is_an_operation_too():
    assert refusals(validating(allowExistingViolations=False, deny={})) == ()
    (found,) = refusals(validating(allowExistingViolations=False))
    assert found.code == "KV138"


def test_the_first_reason_is_that_of_the_earlier_check_and_all_are_told():
    found = refusals(validating(), validating(message="{{ nowhere }}", deny={}) | {"name": "s"})
    assert [remark.code for remark in found] == ["KV112", "KV138"]


def test_variables_in_metadata_count_but_not_what_was_last_applied():
    user = "{{ request.userInfo }}"
    name = "kubectl.kubernetes.io/last-applied-configuration"
    assert refusals(metadata={"annotations": {name: user}}) == ()
    found = refusals(metadata={"annotations": {"a": user}})
    assert [str(remark.location) for remark in found] == ["metadata/annotations/a"]


@pytest.mark.parametrize(
    ("overrides", "part"),
    [
        ([("Enforce", ["a"]), ("Audit", ["a"])], "conflicting namespaces found in path: "),
        ([("Enforce", ["a*"]), ("Audit", ["ab"])], "pattern 'a*' matches with namespace 'ab'"),
        ([("Enforce", ["a*"]), ("Audit", ["a?"])], "pattern 'a?' conflicts with the pattern 'a*'"),
        ([("Enforce", ["a"]), ("Audit", ["b*"])], ""),
    ],
)
def test_overrides_do_not_contradict_each_other(overrides, part):
    listed = [{"action": action, "namespaces": names} for action, names in overrides]
    found = refusals(validationFailureActionOverrides=listed)
    assert [remark.code for remark in found] == ["KV109"] * bool(part)
    assert all(part in remark.message for remark in found)


def test_targets_read_no_target_of_their_own():
    subject = mutating(
        targets=[{"kind": "Pod", "apiVersion": "v1", "name": "{{ target.metadata.name }}"}],
        patchStrategicMerge={"a": "b"},
    )
    found = refusals(subject)
    assert "invalid variables defined at mutate.targets[0]: " in found[0].message
    assert str(found[0].location) == "spec/rules/0/mutate/targets/0/name"


LEGACY_CRITERIA = {
    "name": "n",
    "names": ["n"],
    "namespaces": ["n"],
    "annotations": {"a": "b"},
    "selector": {"matchLabels": {"a": "b"}},
    "namespaceSelector": {"matchLabels": {"a": "b"}},
    "roles": ["a:b"],
    "clusterRoles": ["r"],
    "subjects": [{"kind": "User", "name": "u"}],
}


@pytest.mark.parametrize(("field", "value"), LEGACY_CRITERIA.items())
def test_legacy_blocks_with_another_criterion_do_not_exclude_everything(field, value):
    pods = {"kinds": ["Pod"]}
    is_of_users = field in {"roles", "clusterRoles", "subjects"}
    exclude = (
        {"resources": pods, field: value} if is_of_users else {"resources": pods | {field: value}}
    )
    found = refusals(rule(match={"resources": pods}, exclude=exclude), background=False)
    assert "KV122" not in [remark.code for remark in found]


def test_an_exclude_block_that_covers_the_match_block_says_how_to_join_items():
    other = {"resources": {"kinds": ["Pod"], "namespaces": ["lab"]}}
    (found,) = refusals(rule(exclude={"any": [other, *KINDS["any"]]}))
    assert str(found.location) == "spec/rules/0/exclude/any/1"
    assert found.excerpt[0].endswith("so join it with those of another item")
    (found,) = refusals(rule(exclude=KINDS))
    assert found.excerpt[0].endswith("remove it, or add criteria to it")


def test_every_criterion_is_compared_with_those_of_an_exclude_block():
    """Upstream compares all but operations in legacy blocks."""
    assert {one.field for one in CRITERIA} - LEGACY_CRITERIA.keys() == {"kinds", "operations"}


def test_legacy_criteria_beside_any_are_refused_as_upstream_does():
    found = refusals(rule(match={"resources": {"kinds": ["Pod"]}}, exclude=KINDS))
    assert [remark.code for remark in found] == ["KV122"]


@pytest.mark.parametrize(
    ("subject", "spec", "code", "where", "reason"),
    [
        (
            rule(),
            {"webhookConfiguration": {"matchConditions": [{"name": "a", "expression": "true"}]}},
            "KV102",
            "spec/webhookConfiguration/matchConditions",
            "spec.webhookConfiguration.matchConditions cannot be evaluated without a cluster",
        ),
        (
            mutating(patchStrategicMerge={"a": "b"}),
            {"mutateExistingOnPolicyUpdate": True},
            "KV106",
            "spec/rules/0/mutate",
            "rules[0].mutate.targets has to be specified when mutateExistingOnPolicyUpdate is set",
        ),
        (
            rule(
                match={"any": [{"resources": {"kinds": ["Pod"], "namespaces": ["b"]}}]},
            ),
            {"kind": "Policy", "metadata": {"namespace": "b"}},
            "KV123",
            "spec/rules/0/match/any/0/resources/namespaces",
            "Forbidden: Filtering namespaces not allowed in namespaced policies",
        ),
        (
            rule(
                validate=None,
                verifyImages=[{"imageReferences": ["a/*"], "mutateDigest": True}],
                imageExtractors={"Pod": [{"path": "/spec/x", "jmesPath": "truncate(@, `9`)"}]},
            ),
            {},
            "KV136",
            "spec/rules/0/imageExtractors",
            "jmespath may not be used in an image extractor when mutating digests",
        ),
        (
            mutating(
                mutateExistingOnPolicyUpdate=True,
                targets=[{"kind": "Pod", "apiVersion": "v1"}],
                patchStrategicMerge={"a": "{{ serviceAccountName }}"},
            ),
            {"background": False},
            "KV143",
            "spec/rules/0/mutate/patchStrategicMerge/a",
            "update event, policy contains invalid variables: ",
        ),
    ],
)
def test_a_fault_is_told_once_with_its_place(subject, spec, code, where, reason):
    found = refusals(subject, **spec)
    (remark,) = (remark for remark in found if remark.code == code)
    assert str(remark.location) == where
    assert reason in remark.message


def test_overrides_have_an_action():
    found = refusals(validationFailureActionOverrides=[{"namespaces": ["a"]}])
    assert [remark.message for remark in found] == ["invalid action"]


def test_rules_without_variables_may_run_on_policy_updates():
    subject = mutating(
        mutateExistingOnPolicyUpdate=True,
        targets=[{"kind": "Pod", "apiVersion": "v1"}],
        patchStrategicMerge={"a": "b"},
    )
    users = {"any": [{**KINDS["any"][0], "clusterRoles": ["admin"]}]}
    assert refusals({**subject, "match": users}, background=False) == ()


@pytest.mark.parametrize(
    "conditions",
    [
        "text",
        ["text"],
        {"any": {}},
        {"all": [1]},
        [{"key": 1, "operator": 5, "value": 1}],
        [{"key": 1, "operator": "Equals", "value": 1, "message": 5}],
    ],
)
def test_conditions_of_another_shape_are_refused(conditions):
    assert [r.code for r in refusals(rule(preconditions=conditions))] == ["KV133"]


@pytest.mark.parametrize("conditions", [{}, [], {"any": None}, {"other": 1}])
def test_empty_conditions_are_accepted(conditions):
    assert refusals(rule(preconditions=conditions)) == ()


def test_patterns_as_deep_as_files_may_be_are_no_fault():
    pattern = {"a": "b"}
    for _ in range(95):  # KV006 refuses files that are nested more than 200 deep
        pattern = {"a": [pattern]}
    assert refusals(validating(pattern=pattern)) == ()


TENANT = {"apiVersion": "example.com/v1", "kind": "Tenant"}
ROLE = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole"}
SET = "spec.rules[0].namespace: Forbidden: target namespace must be set for a namespaced resource"
NOT_SET = (
    "spec.rules[0].namespace: Forbidden: target namespace must not be set for a cluster-wide"
    " resource"
)


def tenants(scope):
    spec = {"group": "example.com", "scope": scope, "names": {"kind": "Tenant", "plural": "ts"}}
    return crd_kinds([{"kind": "CustomResourceDefinition", "spec": spec}])


@pytest.mark.parametrize(
    ("body", "kinds", "said"),
    [
        (ROLE | {"namespace": None}, {}, []),
        (ROLE, {}, [("KV129", NOT_SET)]),
        ({"kind": "Namespace", "namespace": None}, {}, []),
        ({"kind": "Namespace"}, {}, [("KV129", NOT_SET)]),
        ({"namespace": "{{ request.object.metadata.name }}"}, {}, []),
        (ROLE | {"namespace": "{{ request.object.metadata.name }}"}, {}, [("KV129", NOT_SET)]),
        ({"apiVersion": "kyverno.io/v1", "kind": "ClusterPolicy", "namespace": None}, {}, []),
        (
            {"apiVersion": "kyverno.io/v1", "kind": "Policy", "namespace": None},
            {},
            [("KV129", SET)],
        ),
        (
            {"apiVersion": "admissionregistration.k8s.io/v1", "namespace": None}
            | {"kind": "MutatingAdmissionPolicy"},
            {},
            [],
        ),
        (TENANT, {}, []),
        (TENANT | {"namespace": None}, {}, [("KV129", SET), ("KV113", "")]),
        (TENANT | {"namespace": None}, tenants("Cluster"), []),
        (TENANT, tenants("Cluster"), [("KV129", NOT_SET)]),
        (TENANT | {"namespace": None}, tenants("Namespaced"), [("KV129", SET)]),
        (TENANT, tenants("Namespaced"), []),
        (
            {"kind": "{{ request.object.data.kind }}", "namespace": None},
            {},
            [("KV129", SET), ("KV113", "")],
        ),
    ],
)
def test_targets_have_a_namespace_as_the_scope_of_their_kind_says(body, kinds, said):
    found = refusals(generating(**body), kinds=kinds)
    assert [one.code for one in found] == [code for code, _ in said]
    assert all(one.message == text for one, (_, text) in zip(found, said, strict=True) if text)


def test_the_scope_of_targets_in_loops_counts_for_each():
    loop = {"list": "request.object.data.a", "name": "n", "data": {"a": "b"}}
    targets = [ROLE, ROLE | {"namespace": "x"}, TENANT]
    body = {"foreach": [{**loop, **one} for one in targets]}
    found = refusals(rule(validate=None, generate=body))
    assert [(one.code, one.location.file) for one in found] == [
        ("KV129", "spec/rules/0/generate/foreach/1/namespace"),
        ("KV129", "spec/rules/0/generate/foreach/2"),
        ("KV113", "spec/rules/0/generate/foreach/2/kind"),
    ]


def test_a_namespaced_policy_makes_nothing_of_a_cluster_scoped_kind():
    made = generating(**ROLE, namespace=None)
    (found,) = refusals(made, kind="Policy", metadata={"namespace": "ns"})
    assert "target resource scope mismatched" in found.message


def test_a_cut_character_has_a_note_with_a_working_alternative():
    (found,) = refusals(validating(message="«{{ request.object.a }} is bad", deny={}))
    (note,) = found.excerpt
    written = "{{ join('', ['«', to_string(request.object.a)]) }}"
    assert note.endswith(written)
    assert refusals(validating(message=f"{written} is bad", deny={})) == ()
