"""Patterns become expressions that deny the same objects, and that people would write."""

import pytest


def pattern(spec, **more):
    return {"validate": {"message": "m", "pattern": {"spec": spec}}, **more}


def containers(**fields):
    return [{"name": "a", "image": "registry/a:1", **fields}]


EXPRESSIONS = [
    ({"hostNetwork": False}, "object.spec.?hostNetwork.orValue(true) == false"),
    ({"=(hostNetwork)": "false"}, "object.spec.?hostNetwork.orValue(false) == false"),
    ({"priorityClassName": "?*"}, "object.spec.?priorityClassName.orValue('') != ''"),
    (
        {"=(dnsPolicy)": "Default | ClusterFirst"},
        "object.spec.?dnsPolicy.orValue('Default') in ['Default', 'ClusterFirst']",
    ),
    ({"hostNetwork": "false | null"}, "object.spec.?hostNetwork.orValue(true) == false"),
    ({"X(hostname)": "null"}, "!has(object.spec.hostname)"),
    (
        {"containers": [{"image": "registry/*"}]},
        "object.spec.containers.all(container, container.image.startsWith('registry/'))",
    ),
    (
        {"containers": [{"image": "!*:latest"}]},
        "object.spec.containers.all(container, !container.image.endsWith(':latest'))",
    ),
    (
        {"=(initContainers)": [{"image": "r/*"}], "containers": [{"image": "r/*"}]},
        "variables.containers.all(container, container.image.startsWith('r/'))",
    ),
    (
        {"terminationGracePeriodSeconds": "<=30"},
        "object.spec.?terminationGracePeriodSeconds.orValue(0) <= 30",
    ),
    (
        {"securityContext": {"runAsNonRoot": True}},
        "object.spec.?securityContext.?runAsNonRoot.orValue(false) == true",
    ),
    (
        {"(hostNetwork)": True, "dnsPolicy": "ClusterFirstWithHostNet"},
        (
            "object.spec.?hostNetwork.orValue(false) != true ||\n"
            "object.spec.?dnsPolicy.orValue('') == 'ClusterFirstWithHostNet'"
        ),
    ),
]


@pytest.mark.parametrize(("spec", "wanted"), EXPRESSIONS, ids=str)
def test_expressions(spec, wanted, expression):
    assert expression(pattern(spec)) == wanted


DENIED = [
    ({"hostNetwork": False}, [{"hostNetwork": True}, {}], [{"hostNetwork": False}]),
    ({"=(hostNetwork)": False}, [{"hostNetwork": True}], [{"hostNetwork": False}, {}]),
    ({"priorityClassName": "!high"}, [{"priorityClassName": "high"}], [{"priorityClassName": "l"}]),
    ({"X(hostname)": "null"}, [{"hostname": "h"}], [{}]),
    (
        {"terminationGracePeriodSeconds": "10 | 1k"},
        [{"terminationGracePeriodSeconds": 11}, {}],
        [{"terminationGracePeriodSeconds": 10}, {"terminationGracePeriodSeconds": 1000}],
    ),
    (
        {"terminationGracePeriodSeconds": "10-30"},
        [{"terminationGracePeriodSeconds": 31}, {}],
        [{"terminationGracePeriodSeconds": 10}],
    ),
    (
        {"=(securityContext)": {"runAsNonRoot": True}},
        [{"securityContext": {}}, {"securityContext": {"runAsNonRoot": False}}],
        [{}, {"securityContext": {"runAsNonRoot": True}}],
    ),
    (
        {"containers": [{"(name)": "a", "image": "good*"}]},
        [{"containers": containers()}],
        [{"containers": containers(name="b")}, {"containers": containers(image="good")}],
    ),
    (
        {"^(containers)": [{"name": "a"}]},
        [{"containers": containers(name="b")}],
        [{"containers": [*containers(), *containers(name="b")]}],
    ),
    (
        {"=(hostNetwork)": False, "containers": [{"(name)": "!istio*", "image": "r/*"}]},
        [{"containers": containers(name="istio"), "hostNetwork": True}],
        [{"containers": containers(name="istio"), "hostNetwork": False}],
    ),
    (
        {"X(hostPID)": "null", "containers": [{"(name)": "b", "image": "r/*"}]},
        [{"containers": containers(), "hostPID": True}],
        [{"containers": containers()}],
    ),
    (
        {"hostname": "a", "containers": [{"(name)": "b", "image": "r/*"}]},
        [{"containers": containers(name="b")}],
        [{"containers": containers(), "hostname": "b"}],
    ),
    (
        {"containers": [{"resources": {"limits": {"memory": "1Gi | 2Gi"}}}]},
        [{"containers": containers(resources={"limits": {"memory": "3Gi"}})}],
        [{"containers": containers(resources={"limits": {"memory": "2048Mi"}})}],
    ),
    (
        {"containers": [{"resources": {"limits": {"memory": "<=1Gi"}}}]},
        [{"containers": containers(resources={"limits": {"memory": "2Gi"}})}],
        [{"containers": containers(resources={"limits": {"memory": "512Mi"}})}],
    ),
    (
        {"containers": [{"=(ports)": [{"=(hostPort)": 0}]}]},
        [{"containers": containers(ports=[{"containerPort": 1, "hostPort": 1}])}],
        [{"containers": containers()}, {"containers": containers(ports=[{"containerPort": 1}])}],
    ),
]


@pytest.mark.parametrize(("spec", "bad", "good"), DENIED, ids=str)
def test_denials(spec, bad, good, denials, pod):
    pods = [pod(f"bad-{n}", **{"containers": containers(), **one}) for n, one in enumerate(bad)]
    pods += [pod(f"good-{n}", **{"containers": containers(), **one}) for n, one in enumerate(good)]
    assert denials(pattern(spec), pods) == [f"bad-{n}" for n in range(len(bad))]


SECRET = {"imagePullSecrets": [{"name": "key"}]}
OURS, THEIRS = (containers(image=image) for image in ("ours/a", "theirs/a"))
SPARED = [
    (
        {"containers": [{"<(image)": "ours/*"}], **SECRET},
        [{"containers": OURS}, {"containers": [*OURS, *THEIRS]}],
        [{"containers": THEIRS}, {"containers": OURS, **SECRET}],
    ),
    (
        {"containers": [{"(image)": "ours/*", "stdin": True}], **SECRET},
        [{"containers": OURS, **SECRET}, {"containers": containers(image="ours/a", stdin=True)}],
        [{"containers": THEIRS}],
    ),
    (
        {"=(volumes)": [{"(name)": "x*", "secret": {"optional": False}}], "hostname": "a"},
        [{}, {"volumes": [{"name": "x", "secret": {"optional": False}}]}, {"volumes": []}],
        [{"volumes": [{"name": "y"}]}, {"hostname": "a"}],
    ),
    (
        {"=(volumes)": [{"(name)": "x*", "secret": {}}], "=(hostname)": "a", "hostPID": True},
        [{"volumes": [{"name": "y"}]}, {}],
        [{"hostPID": True}],
    ),
    (
        {"volumes": [{"name": "?*", "=(projected)": {"sources": [{"(secret)": {"name": "s"}}]}}]},
        [{}, {"volumes": [{"name": ""}]}],
        [{"volumes": [{"name": "a", "projected": {"sources": [{"secret": {"name": "t"}}]}}]}],
    ),
    (
        {"<(hostname)": "a", "hostPID": True},
        [{}, {"hostname": "a"}],
        [{"hostname": "b"}, {"hostname": "a", "hostPID": True}],
    ),
]


@pytest.mark.parametrize(("spec", "bad", "good"), SPARED)
def test_a_list_of_which_nothing_is_asked_spares_what_stands_around_it(
    spec, bad, good, denials, pod
):
    pods = [pod(f"bad-{n}", **one) for n, one in enumerate(bad)]
    pods += [pod(f"good-{n}", **one) for n, one in enumerate(good)]
    assert denials(pattern(spec), pods) == [f"bad-{n}" for n in range(len(bad))]


def test_a_condition_over_a_list_of_conditions_has_no_twin(converted):
    told, _ = converted(pattern({"(volumes)": [{"(name)": "x"}], "hostPID": True}))
    assert "a condition inside a condition" in told.reason


def test_any_pattern(denials, pod):
    rule = {
        "validate": {
            "anyPattern": [
                {"spec": {"securityContext": {"runAsNonRoot": True}}},
                {"spec": {"containers": [{"securityContext": {"runAsNonRoot": True}}]}},
            ]
        }
    }
    safe = {"runAsNonRoot": True}
    pods = [
        pod("whole", containers=containers(), securityContext=safe),
        pod("each", containers=containers(securityContext=safe)),
        pod("neither", containers=containers()),
    ]
    assert denials(rule, pods) == ["neither"]


def test_metadata_that_a_template_lacks(denials, thing):
    rule = {"validate": {"pattern": {"metadata": {"=(labels)": {"=(open)": "false"}}}}}
    spec = {"containers": containers()}

    def deployment(name, template):
        return thing("Deployment", name, api_version="apps/v1", spec={"template": template})

    found = [
        deployment("none", {"spec": spec}),
        deployment("open", {"metadata": {"labels": {"open": "true"}}, "spec": spec}),
        deployment("shut", {"metadata": {"labels": {"open": "false"}}, "spec": spec}),
    ]
    assert denials(rule, found) == ["none", "open"]


@pytest.mark.parametrize(
    ("spec", "reason", "path"),
    [
        ({"containers": []}, "an empty list", ".containers"),
        ({"hostname": "{{ element }}*"}, "a pattern that is computed at evaluation", ".hostname"),
    ],
    ids=str,
)
def test_what_has_no_twin_is_told_with_its_place(spec, reason, path, converted):
    told, made = converted(pattern(spec), background=False)
    assert reason in told.reason
    assert told.path == f"spec.rules[0].validate.pattern.spec{path}"
    assert made == []


def test_an_amount_of_a_resource_is_no_duration(denials, pod):
    pods = [
        pod(name, containers=containers(resources={"requests": {"cpu": cpu}}))
        for name, cpu in (
            ("less", "9m"),
            ("least", "10m"),
            ("one", "1"),
            ("float", 0.5),
            ("k", "1k"),
        )
    ]
    amounts = pattern({"containers": [{"resources": {"requests": {"cpu": "10m-8"}}}]})
    assert denials(amounts, pods) == ["less", "k"]


def test_a_pattern_that_nothing_fails_is_told(converted):
    told, (made,) = converted(pattern({"=(volumes)": [{"(hostPath)": {"path": "/var/log*"}}]}))
    assert "never fails" in [one.name for one in told.conditions]
    assert [one["expression"] for one in made["spec"]["validations"]] == ["true"]
