"""The kinds that an API server serves: Kubernetes' own, Kyverno's, and those of definitions."""

from types import MappingProxyType

from kyvsim.kube.discovery import KindFacts, KindTable

KYVERNO_KINDS: KindTable = MappingProxyType(
    {
        (group, kind): KindFacts(name, namespaced)
        for group, kind, name, namespaced in (
            ("kyverno.io", "CleanupPolicy", "cleanuppolicies", True),
            ("kyverno.io", "ClusterCleanupPolicy", "clustercleanuppolicies", False),
            ("kyverno.io", "ClusterPolicy", "clusterpolicies", False),
            ("kyverno.io", "GlobalContextEntry", "globalcontextentries", False),
            ("kyverno.io", "Policy", "policies", True),
            ("kyverno.io", "PolicyException", "policyexceptions", True),
            ("kyverno.io", "UpdateRequest", "updaterequests", True),
            ("policies.kyverno.io", "DeletingPolicy", "deletingpolicies", False),
            ("policies.kyverno.io", "GeneratingPolicy", "generatingpolicies", False),
            ("policies.kyverno.io", "ImageValidatingPolicy", "imagevalidatingpolicies", False),
            ("policies.kyverno.io", "MutatingPolicy", "mutatingpolicies", False),
            ("policies.kyverno.io", "NamespacedDeletingPolicy", "namespaceddeletingpolicies", True),
            (
                "policies.kyverno.io",
                "NamespacedGeneratingPolicy",
                "namespacedgeneratingpolicies",
                True,
            ),
            (
                "policies.kyverno.io",
                "NamespacedImageValidatingPolicy",
                "namespacedimagevalidatingpolicies",
                True,
            ),
            ("policies.kyverno.io", "NamespacedMutatingPolicy", "namespacedmutatingpolicies", True),
            (
                "policies.kyverno.io",
                "NamespacedValidatingPolicy",
                "namespacedvalidatingpolicies",
                True,
            ),
            ("policies.kyverno.io", "PolicyException", "policyexceptions", True),
            ("policies.kyverno.io", "ValidatingPolicy", "validatingpolicies", False),
            ("reports.kyverno.io", "ClusterEphemeralReport", "clusterephemeralreports", False),
            ("reports.kyverno.io", "EphemeralReport", "ephemeralreports", True),
            ("wgpolicyk8s.io", "ClusterPolicyReport", "clusterpolicyreports", False),
            ("wgpolicyk8s.io", "PolicyReport", "policyreports", True),
        )
    }
)
"""The kinds that come with Kyverno."""
