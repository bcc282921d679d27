"""Writes kyvsim/kube/builtin_kinds.json: group → kind → [plural, 1 where namespaced].

After these stand the served versions, where they are others than v1 alone.

The kinds are those of the schemas beside this checkout. `namespaced` is what the
reference's command line assumes: it takes kinds that its own table lacks for namespaced ones.
"""

import json
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT.parent / "shared" / "schemas" / "kubernetes.json"
TARGET = ROOT / "kyvsim" / "kube" / "builtin_kinds.json"

# upstream: cmd/cli/kubectl-kyverno/data/api-group-resources.json has none of these.
UNKNOWN_TO_REFERENCE = frozenset(
    {
        ("admissionregistration.k8s.io", "MutatingAdmissionPolicy"),
        ("admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding"),
        ("certificates.k8s.io", "ClusterTrustBundle"),
        ("certificates.k8s.io", "PodCertificateRequest"),
        ("coordination.k8s.io", "LeaseCandidate"),
        ("internal.apiserver.k8s.io", "StorageVersion"),
        ("resource.k8s.io", "DeviceTaintRule"),
        ("scheduling.k8s.io", "Workload"),
        ("storagemigration.k8s.io", "StorageVersionMigration"),
    }
)


def make_table(kinds):
    """Return the table for `kinds` of kubernetes.json."""
    table, versions = {}, {}
    for name, facts in kinds.items():
        api_version, _, kind = name.rpartition("/")
        group, _, version = api_version.rpartition("/")
        namespaced = facts["namespaced"] or (group, kind) in UNKNOWN_TO_REFERENCE
        table.setdefault(group, {})[kind] = [facts["plural"], int(namespaced)]
        versions.setdefault((group, kind), []).append(version)
    for (group, kind), served in versions.items():
        table[group][kind] += sorted(served) if served != ["v1"] else []
    return table


def make_text():
    """Return the text of the package data."""
    table = make_table(json.loads(SOURCE.read_text(encoding="utf-8"))["kinds"])
    return json.dumps(table, separators=(",", ":"), sort_keys=True) + "\n"


if __name__ == "__main__":
    TARGET.write_text(make_text(), encoding="utf-8")
