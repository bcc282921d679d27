"""`validate.foreach`: every element has to pass."""

import pytest

CONTAINERS = "request.object.spec.containers"
PASSED = "rule passed"
TAGGED = {"image": "*:*"}
LATEST = {
    "conditions": {
        "any": [{"key": "{{ element.image }}", "operator": "Equals", "value": "*:latest"}]
    }
}


def containers(*images):
    made = [{"name": f"c{i}", "image": image} for i, image in enumerate(images)]
    return {"containers": made}


def unless(name):
    return {"all": [{"key": "{{ element.name }}", "operator": "NotEquals", "value": name}]}


LEFT_ALONE = [
    ([{"list": CONTAINERS, "pattern": TAGGED}], containers("a:1", "b:2")),
    ([{"list": CONTAINERS, "deny": LATEST}], containers("a:1")),
    ([{"list": CONTAINERS, "anyPattern": [TAGGED, {"name": "c1"}]}], containers("a:1", "b")),
    (
        [{"list": CONTAINERS, "pattern": TAGGED, "preconditions": unless("c1")}],
        containers("a:1", "b"),
    ),
    (
        [
            {"list": "request.object.spec.missing", "pattern": TAGGED},
            {"list": CONTAINERS, "pattern": TAGGED},
        ],
        containers("a:1"),
    ),
    ([{"list": f"{CONTAINERS}[0]", "pattern": TAGGED}], containers("a:1", "b")),
    (
        [{"list": f"{CONTAINERS}[].name", "pattern": {"spec": {"hostNetwork": False}}}],
        {**containers("a"), "hostNetwork": False},
    ),
    (
        [
            {
                "list": CONTAINERS,
                "foreach": [{"list": "element.env", "pattern": {"value": "?*"}}],
            }
        ],
        {"containers": [{"name": "a", "env": [{"name": "x", "value": "1"}]}, {"name": "b"}]},
    ),
    (
        [
            {
                "list": CONTAINERS,
                "context": [
                    {"name": "tag", "variable": {"jmesPath": "split(element.image, ':')[1]"}}
                ],
                "deny": {
                    "conditions": {
                        "any": [{"key": "{{ tag }}", "operator": "AnyIn", "value": ["0"]}]
                    }
                },
            }
        ],
        containers("a:1", "b:2"),
    ),
]

NOTHING_TO_SAY = [
    ([{"list": "request.object.spec.missing", "pattern": TAGGED}], {}),
    ([{"list": CONTAINERS, "pattern": TAGGED}], {"containers": []}),
    ([{"list": CONTAINERS, "pattern": TAGGED}], {"containers": [None]}),
    ([{"list": CONTAINERS, "pattern": TAGGED, "preconditions": unless("c0")}], containers("a")),
    (
        [
            {
                "list": CONTAINERS,
                "pattern": TAGGED,
                "preconditions": {
                    "all": [{"key": "{{ element.nope }}", "operator": "Equals", "value": "x"}]
                },
            }
        ],
        containers("a"),
    ),
    ([{"list": CONTAINERS, "pattern": {"(name)": "other", "image": "*:*"}}], containers("a")),
]

FIRES = [
    (
        [{"list": CONTAINERS, "pattern": TAGGED}],
        containers("a:1", "b"),
        "fail",
        "validation error: no. rule r failed at path /image/",
    ),
    ([{"list": CONTAINERS, "deny": LATEST}], containers("a:1", "b:latest"), "fail", "no"),
    (
        [{"list": CONTAINERS, "anyPattern": [TAGGED, {"name": "c0"}]}],
        containers("a", "b"),
        "fail",
        "validation error: no. rule r[0] failed at path /image/ rule r[1] failed at path /name/",
    ),
    (
        [{"list": f"{CONTAINERS}[].name", "pattern": {"spec": {"hostNetwork": False}}}],
        containers("a"),
        "fail",
        "validation error: no. rule r failed at path /spec/hostNetwork/",
    ),
    (
        [{"list": CONTAINERS, "elementScope": False, "pattern": {"spec": {"hostNetwork": False}}}],
        containers("a"),
        "fail",
        "validation error: no. rule r failed at path /spec/hostNetwork/",
    ),
    (
        [{"list": CONTAINERS, "foreach": [{"list": "element.ports", "pattern": {"hostPort": 0}}]}],
        {"containers": [{"name": "a", "ports": [{"hostPort": 80}]}]},
        "fail",
        "validation failure: validation error: no. rule r failed at path /hostPort/",
    ),
    (
        [{"list": f"{CONTAINERS}[].name", "elementScope": True, "pattern": {"a": "b"}}],
        containers("a"),
        "error",
        None,
    ),
    (
        [
            {
                "list": CONTAINERS,
                "deny": {
                    "conditions": {
                        "any": [{"key": "{{ element.x }}", "operator": "Equals", "value": "y"}]
                    }
                },
            }
        ],
        containers("a"),
        "error",
        None,
    ),
]


@pytest.mark.parametrize(("loops", "spec"), LEFT_ALONE)
def test_elements_that_pass(run, pod, verdicts, loops, spec):
    found = run({"validate": {"message": "no", "foreach": loops}}, pod(**spec))
    assert verdicts(found) == [("r", "pass", PASSED)]


@pytest.mark.parametrize(("loops", "spec"), NOTHING_TO_SAY)
def test_a_loop_over_no_elements_has_nothing_to_say(run, pod, verdicts, loops, spec):
    assert verdicts(run({"validate": {"message": "no", "foreach": loops}}, pod(**spec))) == []


@pytest.mark.parametrize(("loops", "spec", "status", "message"), FIRES)
def test_the_first_element_that_does_not_pass_ends_the_rule(
    run, pod, verdicts, loops, spec, status, message
):
    ((_, found, text),) = verdicts(
        run({"validate": {"message": "no", "foreach": loops}}, pod(**spec))
    )
    assert found == status
    if message is not None:
        assert text == f"validation failure: {message}"


def test_element_scope_of_a_scalar_is_an_error(run, pod, verdicts):
    loop = {"list": f"{CONTAINERS}[].name", "elementScope": True, "pattern": {"a": "b"}}
    assert verdicts(run({"validate": {"foreach": [loop]}}, pod(**containers("a")))) == [
        (
            "r",
            "error",
            (
                "failed to process foreach: cannot use elementScope=true foreach rules for "
                "elements that are not maps, expected type=map got type=string"
            ),
        )
    ]


def test_a_list_that_cannot_be_read_is_an_error_if_no_loop_checked_anything(run, pod, verdicts):
    broken = {"list": "length(request.object.spec.hostNetwork)", "pattern": TAGGED}
    spec = {**containers("a:1"), "hostNetwork": True}
    ((_, status, message),) = verdicts(run({"validate": {"foreach": [broken]}}, pod(**spec)))
    assert status == "error"
    assert message.startswith("failed to evaluate list: JMESPath query failed: ")
    both = [broken, {"list": CONTAINERS, "pattern": TAGGED}]
    assert verdicts(run({"validate": {"foreach": both}}, pod(**spec))) == [("r", "pass", PASSED)]


def test_names_of_the_loop_tell_its_level(run, pod, verdicts):
    says = "{{ elementIndex0 }}{{ elementIndex1 }} {{ element0.name }} {{ element1.name }}"
    inner = {
        "list": "element.env",
        "deny": {
            "conditions": {
                "all": [
                    {"key": "{{ elementIndex }}", "operator": "Equals", "value": 1, "message": says}
                ]
            }
        },
    }
    env = [{"name": "x"}, {"name": "y"}]
    found = run(
        {"validate": {"foreach": [{"list": CONTAINERS, "foreach": [inner]}]}},
        pod(containers=[{"name": "a"}, {"name": "b", "env": env}]),
    )
    assert [text for *_, text in verdicts(found)] == [
        "validation failure: validation failure: 11 b y"
    ]


UNREADABLE = "to_number(request.object.metadata.name, 'a')"
BY_MISSING = {"all": [{"key": "{{ element.nope }}", "operator": "Equals", "value": "x"}]}
GUARDED = {"list": CONTAINERS, "pattern": TAGGED, "preconditions": BY_MISSING}


@pytest.mark.parametrize(
    ("loops", "parts"),
    [
        ([GUARDED], [f"element 0 of `{CONTAINERS}`: ", f"element 1 of `{CONTAINERS}`: "]),
        (
            [{"list": CONTAINERS, "foreach": [{**GUARDED, "list": "`[{}]`"}]}],
            ["element 0 of `"] * 2,
        ),
    ],
)
def test_what_no_result_tells_is_kept_beside_the_results(run, pod, loops, parts):
    rule = {"validate": {"message": "no", "foreach": loops}}
    (answer,) = run(rule, pod(**containers("a", "b"))).responses
    assert answer.results == ()
    (silent,) = answer.silent
    assert [part in said for part, said in zip(parts, silent.unchecked, strict=True)] == [True] * 2
    assert silent.note.startswith(f"not checked, and not reported by Kyverno: {parts[0]}")
    assert "(and 1 more); there is no `nope`: check its spelling" in silent.note


def test_a_pass_tells_which_of_its_lists_it_could_not_read(run, pod):
    loops = [{"list": CONTAINERS, "pattern": TAGGED}, {"list": UNREADABLE, "pattern": TAGGED}]
    rule = {"validate": {"message": "no", "foreach": loops}}
    ((passed,),) = (one.results for one in run(rule, pod(**containers("a:1"))).responses)
    assert (passed.status.value, passed.message) == ("pass", PASSED)
    assert len(passed.unchecked) == 1
    assert f"`{UNREADABLE}`: " in passed.note


def test_a_list_that_is_not_there_is_no_gap(run, pod):
    loops = [
        {"list": CONTAINERS, "pattern": TAGGED},
        {"list": "request.object.spec.missing", "pattern": TAGGED},
    ]
    rule = {"validate": {"message": "no", "foreach": loops}}
    ((passed,),) = (one.results for one in run(rule, pod(**containers("a:1"))).responses)
    assert (passed.unchecked, passed.note) == ((), "")
