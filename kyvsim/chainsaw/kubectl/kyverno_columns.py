"""The columns that `kubectl get` prints of Kyverno's kinds, in the versions that it asks for.

Source of the columns: upstream config/crds, `additionalPrinterColumns` of priority 0.
"""

from collections.abc import Mapping
from types import MappingProxyType

_Columns = tuple[tuple[str, str, str], ...]
"""Heading, type and path of each."""

_AGE = ("AGE", "date", ".metadata.creationTimestamp")
_READY = ".status.conditions[?(@.type == 'Ready')]"
_POLICY: _Columns = (
    ("ADMISSION", "boolean", ".spec.admission"),
    ("BACKGROUND", "boolean", ".spec.background"),
    ("READY", "string", f"{_READY}.status"),
    _AGE,
    ("MESSAGE", "string", f"{_READY}.message"),
)
_COUNTS = ("pass", "fail", "warn", "error", "skip")
_REPORT: _Columns = (
    ("KIND", "string", ".scope.kind"),
    ("NAME", "string", ".scope.name"),
    *((one.upper(), "integer", f".summary.{one}") for one in _COUNTS),
    _AGE,
)
_LABEL = ".metadata.labels['audit\\.kyverno\\.io/{}']"
_EPHEMERAL: _Columns = (
    ("SOURCE", "string", _LABEL.format("source")),
    ("GROUP", "string", _LABEL.format("resource\\.group")),
    ("KIND", "string", _LABEL.format("resource\\.kind")),
    ("OWNER", "string", ".metadata.annotations['audit\\.kyverno\\.io/resource\\.name']"),
    *((one.upper(), "integer", f".spec.summary.{one}") for one in _COUNTS),
    _AGE,
)
_CLEANUP: _Columns = (("SCHEDULE", "string", ".spec.schedule"), _AGE)

KYVERNO_COLUMNS: Mapping[tuple[str, str], _Columns] = MappingProxyType(
    {
        ("kyverno.io", "ClusterPolicy"): _POLICY,
        ("kyverno.io", "Policy"): _POLICY,
        ("kyverno.io", "CleanupPolicy"): _CLEANUP,
        ("kyverno.io", "ClusterCleanupPolicy"): _CLEANUP,
        ("kyverno.io", "PolicyException"): (_AGE,),
        ("kyverno.io", "GlobalContextEntry"): (
            _AGE,
            ("REFRESH INTERVAL", "string", ".spec.apiCall.refreshInterval"),
            ("LAST REFRESH", "date", ".status.lastRefreshTime"),
        ),
        ("kyverno.io", "UpdateRequest"): (
            ("POLICY", "string", ".spec.policy"),
            ("RULETYPE", "string", ".spec.requestType"),
            ("RESOURCEKIND", "string", ".spec.resource.kind"),
            ("RESOURCENAME", "string", ".spec.resource.name"),
            ("RESOURCENAMESPACE", "string", ".spec.resource.namespace"),
            ("STATUS", "string", ".status.state"),
            _AGE,
        ),
        ("wgpolicyk8s.io", "ClusterPolicyReport"): _REPORT,
        ("wgpolicyk8s.io", "PolicyReport"): _REPORT,
        ("reports.kyverno.io", "EphemeralReport"): _EPHEMERAL,
        ("reports.kyverno.io", "ClusterEphemeralReport"): (
            *_EPHEMERAL,
            ("UID", "string", _LABEL.format("resource\\.uid")),
        ),
    }
)
"""What follows the name, by group and kind."""
