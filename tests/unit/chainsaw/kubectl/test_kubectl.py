"""kubectl's commands on a simulated cluster."""

import pytest

from kyvsim.chainsaw.environment import STDERR, STDOUT, ShellEnvironment
from kyvsim.chainsaw.errors import UnsupportedError
from kyvsim.chainsaw.kubectl import kubectl

CM = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: {app: web}}\ndata: {x: '1'}\n"
DENIES = """
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: need-team}
spec:
  rules:
  - name: team
    match: {any: [{resources: {kinds: [Pod, ConfigMap], names: [bad*]}}]}
    validate:
      failureAction: Enforce
      message: a team is required
      pattern: {metadata: {labels: {team: "?*"}}}
"""


@pytest.fixture
def k(situation):
    """Return what calls kubectl with words split at blanks; files are by name."""

    def call(line, stdin="", **files):
        for name, text in files.items():
            ShellEnvironment(situation.session).write(f"{name}.yaml", text, append=False)
        words = line if line.__class__ is tuple else tuple(line.split())
        return kubectl(words, stdin, ShellEnvironment(situation.session))

    return call


@pytest.fixture
def out(k):
    """Return what calls kubectl and returns its output, where it succeeds."""

    def call(line, stdin="", **files):
        result = k(line, stdin, **files)
        assert result.status == 0, result.text(STDERR)
        return result.text(STDOUT)

    return call


def test_apply_creates_then_changes_then_leaves_alone(out):
    assert out("apply -f a.yaml", a=CM) == "configmap/a created\n"
    assert out("apply -f a.yaml") == "configmap/a unchanged\n"
    assert out("apply -f a.yaml", a=CM.replace("x: '1'", "z: '2'")) == "configmap/a configured\n"
    assert out("get cm a -o jsonpath={.data}") == '{"z":"2"}'


def test_apply_keeps_what_others_added(out):
    out("apply -f a.yaml", a=CM)
    out("label cm a tier=front")
    out("apply -f a.yaml", a=CM.replace("'1'", "'2'"))
    assert out("get cm a -o jsonpath={.metadata.labels}") == '{"app":"web","tier":"front"}'


def test_apply_reads_standard_input(out):
    assert out("apply -f -", CM) == "configmap/a created\n"


def test_denial_reads_as_kubectl_prints_it(k, out, situation):
    out("create -f p.yaml", p=DENIES)
    situation.session.wait(1)
    result = k("apply -f bad.yaml", bad=CM.replace("name: a", "name: bad"))
    assert result.status == 1
    assert result.text(STDERR).startswith(
        'Error from server: error when creating "bad.yaml": admission webhook '
        '"validate.kyverno.svc-fail" denied the request: \n\nresource ConfigMap/default/bad was'
    )
    assert k("run bad --image=nginx").text(STDERR).startswith("Error from server: admission webh")
    assert k("get cm bad").status == 1


def test_warnings_go_to_standard_error(k):
    result = k("apply -f p.yaml", p=DENIES)
    assert all(line.startswith("Warning: ") for line in result.text(STDERR).splitlines())
    assert result.text(STDOUT) == "clusterpolicy.kyverno.io/need-team created\n"


def test_a_deprecated_kind_is_warned_of_once_in_each_call(k):
    two = DENIES + "---" + DENIES.replace("need-team", "other")
    k("apply -f p.yaml", p=two)
    for line in ("get cpol", "get cpol need-team -o name", "delete cpol need-team other"):
        warned = [one for one in k(line).text(STDERR).splitlines() if one.startswith("Warning: ")]
        assert [
            one[: len("Warning: kyverno.io/v1 ClusterPolicy is deprecated")] for one in warned
        ] == ["Warning: kyverno.io/v1 ClusterPolicy is deprecated"]
    assert k("get pod").text(STDERR) == "No resources found in default namespace.\n"


MESSAGES = [
    ("get pod p", 'Error from server (NotFound): pods "p" not found\n'),
    ("delete cm b", 'Error from server (NotFound): configmaps "b" not found\n'),
    ("get widgets", 'error: the server doesn\'t have a resource type "widgets"\n'),
    ("get deployments.v9.apps", 'error: the server doesn\'t have a resource type "deployments"\n'),
    ("get po.v1 p", 'Error from server (NotFound): pods "p" not found\n'),
    (
        "get deployments.v1.apps d",
        'Error from server (NotFound): deployments.apps "d" not found\n',
    ),
    (
        "get policyexceptions.policies.kyverno.io x",
        'Error from server (NotFound): policyexceptions.policies.kyverno.io "x" not found\n',
    ),
    (
        "get policyexceptions.v1beta1.policies.kyverno.io x",
        'Error from server (NotFound): policyexceptions.policies.kyverno.io "x" not found\n',
    ),
    ("apply", "error: must specify one of -f and -k\n"),
    ("scale deploy x --replicas=2", 'Error from server (NotFound): deployments.apps "x" not found'),
    (
        "wait cm/a --for=condition=Ready --timeout=1s",
        'Error from server (NotFound): configmaps "a"',
    ),
]


@pytest.mark.parametrize(("line", "message"), MESSAGES)
def test_failures_read_as_kubectl_prints_them(line, message, k):
    result = k(line)
    assert result.status == 1
    assert result.text(STDERR).startswith(message)


def test_forbidden_user_is_told(k):
    result = k("create ns x --as=nancy")
    assert result.status == 1
    assert "(Forbidden)" in result.text(STDERR)
    assert 'User "nancy" cannot create resource "namespaces"' in result.text(STDERR)


def test_create_makes_objects_of_flags(out):
    assert out("create ns n") == "namespace/n created\n"
    assert out("create cm c --from-literal=k=v -n n") == "configmap/c created\n"
    assert out("create deploy d --image=nginx:1 --replicas=2") == "deployment.apps/d created\n"
    line = ("create", "cronjob", "j", "--image=busybox", "--schedule=*/1 * * * *")
    assert out(line) == "cronjob.batch/j created\n"
    assert out("get cm c -n n -o jsonpath={.data.k}") == "v"
    assert out("get deploy d -o jsonpath={.spec.replicas}") == "2"
    assert out("get cj j -o jsonpath={.spec.schedule}") == "*/1 * * * *"


def test_create_tells_what_is_there(k, out):
    out("create ns n")
    told = 'Error from server (AlreadyExists): namespaces "n" already exists\n'
    assert k("create ns n").text(STDERR) == told


def test_get_shows_nothing_found_on_standard_error(k):
    result = k("get updaterequests -n kyverno")
    assert result == k("get ur --namespace=kyverno")
    assert (result.status, result.text(STDERR)) == (0, "No resources found in kyverno namespace.\n")


def test_get_formats(out):
    out("apply -f a.yaml", a=CM)
    assert out("get cm a -o name") == "configmap/a\n"
    assert '"x": "1"' in out("get configmaps/a -o json")
    assert "kind: ConfigMap" in out("get ConfigMap a -o yaml")
    assert out("get cm -l app=web --no-headers") == "a     1     1s\n"
    assert out("get cm -A -l app=web --no-headers").startswith("default   a     1     ")
    assert out("get cm -l app!=web,app=web -o name") == ""


def test_get_prints_the_columns_of_a_kind(out, situation):
    message = "first line\nsecond line"
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "e", "namespace": "default"},
        "involvedObject": {"kind": "Pod", "name": "web"},
        "reason": "PolicyViolation",
        "type": "Warning",
        "message": message,
        "eventTime": "2024-01-01T00:00:00.000000Z",
    }
    assert situation.session.client.create(event).ok
    heading, row = out("get event").splitlines()
    assert heading.split() == ["LAST", "SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"]
    assert row.split()[1:] == ["Warning", "PolicyViolation", "pod/web", "first", "line..."]
    assert out("get ns default").splitlines()[0] == "NAME      STATUS   AGE"
    assert out("get ns default --no-headers").split()[:2] == ["default", "Active"]


def test_get_prints_the_columns_that_a_definition_says(out):
    definition = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: paints.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Paint, plural: paints, singular: paint, listKind: PaintList}
  versions:
  - name: v1
    served: true
    storage: true
    additionalPrinterColumns:
    - {name: Colour, type: string, jsonPath: .spec.colour}
    - {name: Seldom, type: string, jsonPath: .spec.seldom, priority: 1}
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
"""
    paint = "{apiVersion: example.com/v1, kind: Paint, metadata: {name: p}, spec: {colour: red}}"
    out("apply -f d.yaml", d=definition)
    out("apply -f p.yaml", p=paint)
    assert out("get paints") == "NAME   COLOUR\np      red\n"


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("get svc", "the table of `kubectl get` for a Service"),
        ("get svc -o wide", "`kubectl get --output wide`"),
        ("get cm,svc", "with a table of several kinds"),
        ("get validatingwebhookconfigurations", "the table of `kubectl get` for a Validating"),
        ("get lease -n kyverno", "in a cluster nodes and controllers"),
        (
            "patch deployment kyverno-admission-controller -n kyverno -p {}",
            "the components installed",
        ),
        ("get pods -n kyverno", "the components installed there are not simulated"),
    ],
)
def test_what_no_table_or_cluster_here_has_is_not_simulated(line, told, k, out):
    out("apply -f a.yaml", a=CM)
    service = "{apiVersion: v1, kind: Service, metadata: {name: s}, spec: {ports: [{port: 80}]}}"
    out("apply -f s.yaml", s=service)
    with pytest.raises(UnsupportedError, match=told):
        k(line)


@pytest.mark.parametrize(
    "line",
    [
        "delete cm a --dry-run=server",
        "patch cm a -p {} -o yaml",
        "scale deploy d --replicas=2 --timeout=5s",
        "run p --image=nginx --env=A=b",
        "apply -f a.yaml --force",
        "create deploy d --image=nginx --port=80",
        "label cm a x=y --list",
    ],
)
def test_flag_that_a_command_would_pass_over_is_not_simulated(line, k, out):
    out("apply -f a.yaml", a=CM)
    with pytest.raises(UnsupportedError, match="the flag `"):
        k(line)
    assert out("get cm a -o name") == "configmap/a\n"


def test_patches_of_three_types(out):
    out("apply -f a.yaml", a=CM)
    assert out(("patch", "cm", "a", "-p", '{"data":{"y":"2"}}')) == "configmap/a patched\n"
    out(("patch", "cm", "a", "--type", "merge", "-p", '{"data":{"x":null}}'))
    out(("patch", "cm", "a", "--type=json", "-p", '[{"op":"add","path":"/data/z","value":"3"}]'))
    assert out("get cm a -o jsonpath={.data}") == '{"y":"2","z":"3"}'


def test_labels_are_set_kept_and_taken_away(k, out):
    out("apply -f a.yaml", a=CM)
    assert out("label cm a tier=front") == "configmap/a labeled\n"
    refused = k("label cm a tier=back")
    assert refused.status == 1
    assert "already has a value (front), and --overwrite is false" in refused.text(STDERR)
    assert out("label cm a tier=back --overwrite") == "configmap/a labeled\n"
    assert out("label cm a tier-") == "configmap/a unlabeled\n"
    assert out("annotate cm a note=x") == "configmap/a annotated\n"
    assert out("get cm a -o jsonpath={.metadata.labels}") == '{"app":"web"}'


def test_delete_waits_until_objects_are_gone(k, out):
    out("apply -f a.yaml", a=CM)
    assert out("delete -f a.yaml") == 'configmap "a" deleted from default namespace\n'
    assert out("delete -f a.yaml --ignore-not-found=true") == ""
    assert out("delete ur -A --all") == "No resources found\n"
    out("apply -f a.yaml", a=CM.replace("{name: a,", "{name: a, finalizers: [x/y],"))
    late = k("delete cm a --timeout=5s")
    assert (late.status, "timed out" in late.text(STDERR)) == (1, True)
    assert out("delete cm a --wait=false").startswith('configmap "a" deleted')


@pytest.mark.parametrize(
    "line",
    [
        ("exec", "p", "--", "cat", "/etc/passwd"),
        ("exec", "p", "--", "sh", "-c", "exit 3"),
        ("exec", "p", "--", "ls", "/nowhere"),
        ("debug", "p", "-it", "--image=busybox"),
        ("run", "q", "--image=nginx", "-i"),
    ],
)
def test_what_a_container_would_do_is_not_known(k, out, line):
    out("run p --image=nginx")
    with pytest.raises(UnsupportedError, match="containers are not simulated"):
        k(line)


def test_exec_is_denied_as_in_a_cluster(k, out):
    assert k("exec p -- sh").text(STDERR) == 'Error from server (NotFound): pods "p" not found\n'
    out("run p --image=nginx")
    assert k("exec p").text(STDERR).startswith("error: you must specify at least one command")


def test_pods_run_and_are_reached_by_subresources(k, out):
    assert out("run p --image=nginx --labels=a=b") == "pod/p created\n"
    assert out("get pod p -o jsonpath={.metadata.labels}") == '{"a":"b"}'
    assert k("exec p -it -- ls").status == 0
    assert out("debug p --image=busybox -c dbg") == "\n"
    assert out("get po p -o jsonpath={.spec.ephemeralContainers[0].name}") == "dbg"
    assert out("debug p --image=busybox -c d2 --target=p").startswith('Targeting container "p".')
    assert out("get po p -o jsonpath={.spec.ephemeralContainers[1].targetContainerName}") == "p"
    assert out("evict p") == "pod/p evicted\n"


def test_scale_changes_replicas(out):
    out("create deployment d --image=nginx")
    assert out("scale deployment d --replicas 4") == "deployment.apps/d scaled\n"
    assert out("get deployment.apps d -o jsonpath={.spec.replicas}") == "4"


def test_wait_sees_deletion_and_fields(k, out):
    out("apply -f a.yaml", a=CM)
    assert out(("wait", "cm/a", "--for=jsonpath={.data.x}=1")) == "configmap/a condition met\n"
    late = k("wait cm/a --for=delete --timeout=2s")
    assert late.status == 1
    assert late.text(STDERR) == "error: timed out waiting for the condition on configmaps/a\n"


@pytest.mark.parametrize(
    "line",
    ["logs p", "get cm -o go-template=x", "get cm --watch", "config view", "cp a b", "proxy"],
)
def test_what_is_not_understood_is_not_simulated(line, k):
    with pytest.raises(UnsupportedError):
        k(line)


@pytest.mark.parametrize(
    ("flags", "seconds", "done"),
    [
        ("", 30, "deleted"),
        ("--grace-period=-1", 30, "deleted"),
        ("--grace-period=5", 5, "deleted"),
        ("--grace-period=0", 1, "deleted"),
        ("--now", 1, "deleted"),
        ("--force", 0, "force deleted"),
        ("--force --grace-period=0", 0, "force deleted"),
    ],
)
def test_flags_set_the_grace_period_of_pods(k, situation, flags, seconds, done):
    k(("run", "p", "--image=busybox", "--command", "--", "sleep", "1h"))
    situation.session.wait(5)
    begin = situation.session.sim.clock.elapsed
    result = k(f"delete pod p {flags}")
    assert result.text(STDOUT) == f'pod "p" {done} from default namespace\n'
    warned = result.text(STDERR).startswith("Warning: Immediate deletion does not wait")
    assert warned is (seconds == 0)
    assert situation.session.sim.clock.elapsed - begin == pytest.approx(seconds, abs=0.5)


@pytest.mark.parametrize("flags", ["--now --grace-period=3", "--force --grace-period=3"])
def test_grace_periods_exclude_each_other(k, flags):
    assert "cannot be specified together" in k(f"delete pod p {flags}").text(STDERR)


def test_deleted_pods_of_a_controller_mean_that_it_is_started_anew(out, situation):
    pods = "pod -n kyverno -l app.kubernetes.io/component=cleanup-controller"
    assert out(f"delete {pods}") == (
        'pod "kyverno-cleanup-controller" deleted from kyverno namespace\n'
    )
    assert out(f"wait --for=condition=ready {pods} --timeout=9s") == (
        'pod "kyverno-cleanup-controller" condition met\n'
    )
    events = situation.session.sim.timeline.events
    assert [one.action for one in events if one.actor in {"user", "cleanup"}][-2:] == [
        "restart",
        "begin",
    ]


@pytest.mark.parametrize("chosen", ["-l app.kubernetes.io/component=reports-controller", "--all"])
def test_what_else_is_installed_is_not_there(k, chosen):
    with pytest.raises(UnsupportedError):
        k(f"delete pod -n kyverno {chosen}")


POLICY = """
apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: p}
spec:
  validationActions: [%s]
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
  validations: [{expression: "true"}]
"""


def test_kinds_of_invalid_objects_are_shown_without_their_group_and_fields_in_lines(k):
    supported = 'supported values: "Deny", "Audit", "Warn"'
    one = k("apply -f a.yaml", a=POLICY % "Odd").text(STDERR)
    place = "spec.validationActions[0]"
    why = f'{place}: Unsupported value: "Odd": {supported}'
    assert one == f'The ValidatingPolicy "p" is invalid: {why}\n'
    two = k("apply -f b.yaml", b=POLICY % "Odd, Even").text(STDERR)
    assert two.startswith(f'The ValidatingPolicy "p" is invalid: \n* {why}\n* spec.')


def test_deployments_are_restarted_and_waited_for(k, out, situation):
    out("create deployment web --image=nginx")
    waited = 'deployment "web" successfully rolled out\n'
    assert out("rollout status deployment/web") == waited
    before = out("get pods -o name")
    assert out("rollout restart deployment web") == "deployment.apps/web restarted\n"
    assert out("rollout status deployment/web --timeout=60s") == waited
    assert out("get pods -o name") != before
    assert k("rollout status deployment/none").status == 1
    clock = situation.session.sim.clock.elapsed
    out("rollout restart deployment/kyverno-background-controller -n kyverno")
    out("rollout status deployment/kyverno-background-controller -n kyverno")
    assert 2 <= situation.session.sim.clock.elapsed - clock < 4


@pytest.mark.parametrize(
    "line",
    [
        "rollout undo deployment/web",
        "rollout restart daemonset/web",
        "rollout restart deployment/kyverno-admission-controller -n kyverno",
    ],
)
def test_other_rollouts_are_unsupported(line, k):
    with pytest.raises(UnsupportedError):
        k(line)
