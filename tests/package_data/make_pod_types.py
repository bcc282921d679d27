"""Make pod_types.json and other_types.json of kyvsim/languages/classic/pod_security.

Usage: make_pod_types.py API APIMACHINERY EXTENSIONS [others] > pod_types.json (other_types.json)

They are the Go types that Pods, and other objects of Kubernetes, are read as. API, APIMACHINERY and
EXTENSIONS are the source folders of k8s.io/api, k8s.io/apimachinery and
k8s.io/apiextensions-apiserver v0.36.3. Only types that are reached from the roots are kept; the
others are those that Pods do not reach. A type is a map of its JSON fields, or the
type that it is a name for. Field: `TYPE`, or `GO-NAME TYPE` where it stands in an embedded struct.
"""

import json
import re
import sys
from collections.abc import Iterable
from pathlib import Path

ROOTS = ("v1.Pod", "v1.Deployment", "v1.CronJob")
OTHER_ROOTS = {
    "core/v1": (
        *("ConfigMap", "Endpoints", "Event", "LimitRange", "Namespace", "Node", "PersistentVolume"),
        *("PersistentVolumeClaim", "PodTemplate", "ReplicationController", "ResourceQuota"),
        *("Secret", "Service", "ServiceAccount"),
    ),
    "apps/v1": ("ControllerRevision", "DaemonSet", "ReplicaSet", "StatefulSet"),
    "batch/v1": ("Job",),
    "rbac/v1": ("ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"),
    "networking/v1": ("Ingress", "IngressClass", "NetworkPolicy"),
    "policy/v1": ("PodDisruptionBudget",),
    "storage/v1": ("StorageClass",),
    "scheduling/v1": ("PriorityClass",),
    "coordination/v1": ("Lease",),
    "autoscaling/v2": ("HorizontalPodAutoscaler",),
    "admissionregistration/v1": (
        *("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"),
        *("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"),
        *("MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"),
    ),
}
DEFINITIONS = "apiextensions"
"""The package of definitions of custom resources: some of its types are called as others are."""
OWN_READERS = ("resource.Quantity", "intstr.IntOrString", "v1.Time", "v1.MicroTime", "v1.FieldsV1")
OWN_READERS += ("runtime.RawExtension", f"{DEFINITIONS}.JSON", "v1.Duration")
OWN_READERS += tuple(
    f"{DEFINITIONS}.JSONSchemaPropsOr{one}" for one in ("Array", "Bool", "StringArray")
)
"""Types that read their JSON themselves."""
SOURCES = (
    *(("api", f"{path}/types.go", path.partition("/")[2]) for path in OTHER_ROOTS),
    ("extensions", "pkg/apis/apiextensions/v1/types.go", DEFINITIONS),
    ("extensions", "pkg/apis/apiextensions/v1/types_jsonschema.go", DEFINITIONS),
    ("apimachinery", "pkg/apis/meta/v1/types.go", "v1"),
    ("apimachinery", "pkg/types/uid.go", "types"),
    ("apimachinery", "pkg/types/nodename.go", "types"),
)
STRUCT = re.compile(r"^type (\w+) struct \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
EMPTY = re.compile(r"^type (\w+) struct ?\{\}$", re.MULTILINE)
NAMED = re.compile(r"^(?:type|\t)\s*(\w+) ((?:map\[|\[\])?[\w.\]]+)$", re.MULTILINE)
FIELD = re.compile(r'^\t(?:(\w+)\s+)?([\w.*\[\]]+)\s+`[^`]*?json:"([^"]*)"', re.MULTILINE)
PLAIN = re.compile(r"(?<![\w.])([A-Z]\w*)")
PACKAGES = re.compile(r"\b(?:metav1|corev1|apiv1)\.")


def qualified(written: str, package: str) -> str:
    """Return a type's text with its package, as Go prints it."""
    return PACKAGES.sub("v1.", PLAIN.sub(rf"{package}.\1", written))


def read(folders: dict[str, Path]) -> dict[str, object]:
    """Return every type of the sources: `{"v1.Pod": [[Go name, type, JSON tag], …]}`."""
    types: dict[str, object] = {}
    for folder, path, package in SOURCES:
        text = (folders[folder] / path).read_text("utf-8")
        for name, target in NAMED.findall(text):
            types.setdefault(f"{package}.{name}", qualified(target, package))
        types.update({f"{package}.{name}": [] for name in EMPTY.findall(text)})
        for name, body in STRUCT.findall(text):
            fields = [(go, qualified(kind, package), tag) for go, kind, tag in FIELD.findall(body)]
            doubled = types.get(f"{package}.{name}", fields) != fields
            types[f"{package}.{name}"] = None if doubled else fields
    return types


def json_fields(name: str, types: dict[str, object]) -> dict[str, str]:
    """Return the JSON fields of a struct, those of embedded structs among them."""
    found: dict[str, str] = {}
    for go, kind, tag in types[name]:
        key = tag.partition(",")[0]
        if key and key != "-":
            found[key] = kind
        elif not go:
            inner = json_fields(kind, types)
            found.update({field: f"{kind.partition('.')[2]} {one}" for field, one in inner.items()})
    return dict(sorted(found.items()))


def reached(types: dict[str, object], roots: Iterable[str]) -> dict[str, object]:
    """Return the types that are reached from roots, by name and in order."""
    kept: dict[str, object] = {}
    waiting = list(roots)
    while waiting:
        name = waiting.pop()
        if name in kept or name in OWN_READERS:
            continue
        known = types[name]
        if known is None:
            raise SystemExit(f"two types are called {name}")
        kept[name] = known if isinstance(known, str) else json_fields(name, types)
        texts = [known] if isinstance(known, str) else kept[name].values()
        waiting += [one for text in texts for one in re.findall(r"\w+\.\w+", text)]
    return dict(sorted(kept.items()))


def make(types: dict[str, object], *, others: bool) -> str:
    """Return the JSON text of the types of Pods, or of those of others that Pods do not reach."""
    kept = reached(types, ROOTS)
    if others:
        roots = [
            f"{path.partition('/')[2]}.{kind}"
            for path, some in OTHER_ROOTS.items()
            for kind in some
        ]
        found = reached(types, (*roots, f"{DEFINITIONS}.CustomResourceDefinition"))
        kept = {name: fields for name, fields in found.items() if name not in kept}
    return json.dumps(kept, separators=(",", ":")) + "\n"


if __name__ == "__main__":
    names = ("api", "apimachinery", "extensions")
    folders = dict(zip(names, map(Path, sys.argv[1:4]), strict=True))
    sys.stdout.write(make(read(folders), others=sys.argv[4:] == ["others"]))
