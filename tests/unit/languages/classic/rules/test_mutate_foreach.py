"""`mutate.foreach`: one patch an element."""

import pytest

CONTAINERS = "request.object.spec.containers"
MUTATED = "mutated Pod/web in namespace shop"
NONE = "0 elements processed"


def each(patch, **more):
    return {"list": CONTAINERS, "patchStrategicMerge": {"spec": patch}, **more}


TTY = {"containers": [{"name": "{{ element.name }}", "tty": True}]}
DROP = {
    "list": "request.object.spec.tolerations",
    "patchesJson6902": "- {op: remove, path: '/spec/tolerations/{{ elementIndex }}'}",
}
NAME_AS_VALUE = """
- op: add
  path: /spec/containers/{{ elementIndex0 }}/env/{{ elementIndex1 }}/value
  value: "{{ element1.name }}"
"""
AB = [{"name": "a"}, {"name": "b"}]
KEYS = [{"key": "a"}, {"key": "b"}, {"key": "c"}]
ONLY_B = {"all": [{"key": "{{ element.name }}", "operator": "Equals", "value": "b"}]}

LEFT_ALONE = [
    ([each(TTY)], {"containers": []}),
    ([each(TTY)], {"containers": [{"name": "a", "tty": True}]}),
    ([each(TTY, preconditions=ONLY_B)], {"containers": [{"name": "a"}]}),
    ([each(TTY)], {"containers": [None]}),
]

FIRES = [
    (
        [each(TTY)],
        {"containers": AB},
        {"containers": [{"name": "a", "tty": True}, {"name": "b", "tty": True}]},
    ),
    (
        [each(TTY, order="Ascending")],
        {"containers": AB},
        {"containers": [{"name": "b", "tty": True}, {"name": "a", "tty": True}]},
    ),
    (
        [each(TTY, preconditions=ONLY_B)],
        {"containers": AB},
        {"containers": [{"name": "b", "tty": True}, {"name": "a"}]},
    ),
    ([DROP], {"tolerations": KEYS}, {"tolerations": [{"key": "b"}]}),
    ([{**DROP, "order": "Descending"}], {"tolerations": KEYS}, {"tolerations": []}),
    (
        [
            {
                "list": "request.object.spec.a",
                "patchesJson6902": "- {op: add, path: '/spec/b', value: '{{ element }}'}",
            }
        ],
        {"a": "x"},
        {"a": "x", "b": "x"},
    ),
    (
        [each({"seen": "{{ request.object.spec.seen || 'nothing' }}{{ element.name }}"})],
        {"containers": AB, "seen": "-"},
        {"containers": AB, "seen": "-a"},
    ),
    (
        [
            each({"seen": "first"}),
            {
                "list": "request.object.spec.seen",
                "patchStrategicMerge": {"spec": {"then": "{{ element }}"}},
            },
        ],
        {"containers": AB, "seen": "-"},
        {"containers": AB, "seen": "first", "then": "first"},
    ),
    (
        [
            {
                "list": CONTAINERS,
                "foreach": [
                    {
                        "list": "element.env",
                        "patchesJson6902": NAME_AS_VALUE,
                    }
                ],
            }
        ],
        {"containers": [{"name": "a", "env": []}, {"name": "b", "env": [{"name": "x"}]}]},
        {
            "containers": [
                {"name": "a", "env": []},
                {"name": "b", "env": [{"name": "x", "value": "x"}]},
            ]
        },
    ),
    (
        [
            each(
                {"nodeName": "{{ node }}"},
                context=[{"name": "node", "variable": {"jmesPath": "element.name"}}],
            )
        ],
        {"containers": AB},
        {"containers": AB, "nodeName": "a"},
    ),
]


@pytest.mark.parametrize(("loops", "spec"), LEFT_ALONE)
def test_loops_that_change_nothing(run, pod, verdicts, loops, spec):
    before = pod(**spec)
    found = run({"mutate": {"foreach": loops}}, before)
    assert verdicts(found) == [("r", "skip", NONE)]
    assert found.object is before


@pytest.mark.parametrize(("loops", "spec", "after"), FIRES)
def test_loops_that_change_the_object(run, pod, verdicts, loops, spec, after):
    found = run({"mutate": {"foreach": loops}}, pod(**spec))
    assert verdicts(found) == [("r", "pass", MUTATED)]
    assert found.object == {**pod(), "spec": after}


@pytest.mark.parametrize(
    ("loop", "message"),
    [
        (
            {"list": "request.object.spec.nope", "patchStrategicMerge": {"spec": {"a": "b"}}},
            "failed to evaluate list request.object.spec.nope: JMESPath query failed: ",
        ),
        (
            each(
                TTY,
                preconditions={
                    "all": [{"key": "{{ element.nope }}", "operator": "Equals", "value": "x"}]
                },
            ),
            "failed to mutate elements: failed to evaluate mutate.foreach[1].preconditions: ",
        ),
        (
            each({"a": "{{ element.nope }}"}),
            "failed to mutate elements: variable substitution failed: ",
        ),
        (
            {"list": CONTAINERS, "patchesJson6902": "- {op: replace, path: /spec/x, value: 1}"},
            "failed to mutate elements: failed to patch resource: ",
        ),
        (
            {"patchStrategicMerge": {"spec": {"a": "b"}}},
            "failed to evaluate list : invalid query (nil): invalid query (nil)",
        ),
    ],
)
def test_loops_that_cannot_go_on(run, pod, verdicts, loop, message):
    ((_, status, text),) = verdicts(run({"mutate": {"foreach": [loop]}}, pod(containers=AB)))
    assert status == "error"
    assert text.startswith(message)


@pytest.mark.slow
def test_a_merge_for_each_of_many_elements_counts_against_the_budget(run, pod):
    """Where each element is merged with all of the object, what they take together is bounded."""

    def ended(count, name):
        patch = {"containers": [{"(name)": name, "tty": True}]}
        containers = [{"name": f"c{n}", "image": "i"} for n in range(count)]
        rule = {"mutate": {"foreach": [each(patch)]}}
        (response,) = run(rule, pod(containers=containers)).responses
        return response.results[0]

    assert ended(100, "{{ element.name }}*").status.value == "pass"
    assert ended(2000, "{{ element.name }}").status.value == "pass"  # one element is looked at
    many = ended(2000, "{{ element.name }}*")
    assert many.status.value == "error"
    assert "the budget of 1,000,000 steps for a rule is spent" in many.message
