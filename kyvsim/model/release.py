"""Releases of Kyverno: the facts and texts in which the supported ones differ.

A release is data. Code never compares versions: it reads a named fact where a policy is compiled
or a simulated cluster is set up. What all releases share is not here, and a fact that no two
releases disagree on any more is deleted.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple


class Release(NamedTuple):
    """One release of Kyverno."""

    name: str
    """Its version, which is only shown."""
    blocked_hosts: tuple[str, ...]
    """Hosts that policies may not call, as in the default of `--httpBlocklist`."""
    blocked_networks: tuple[str, ...]
    """Ranges of addresses that they may not call."""
    blocks_embedded_addresses: bool
    """Whether an IPv6 address that carries a blocked IPv4 address is blocked."""
    blocks_service_calls: bool
    """Whether this applies to service calls of context entries, not only to CEL."""
    decodes_paths: bool
    """Whether the path of an API call is decoded before its namespace is checked."""
    skips_scalars_at_wildcards: bool
    """Whether `*` in the path of images, also those of containers, skips what can be none."""
    searches_all_expressions: bool
    """Whether a cluster searches targets of mutations and attestors for calls over HTTP, too.

    Namespaced policies may make none. The same holds for reading GlobalContextEntries.
    """
    confines_global_context: bool
    """Whether namespaced policies cannot read GlobalContextEntries."""
    extracts_templates: bool
    """Whether custom workloads among `autogen.podControllers` are evaluated by their templates."""
    without_variants: tuple[tuple[str, bool], ...]
    """Kinds in CEL for whose variants a webhook has no rules: a dedicated (True) or a shared one.

    upstream: pkg/controllers/webhook/validating.go, which switches on the Go type of a policy in
    some places and on the interface shared with its namespaced twin in others.
    """
    checks_rights_for_variants: bool
    """Whether the status of a policy in CEL asks for the rights to read its variants' kinds."""
    counts_partial_exceptions: bool
    """Whether an exception for some images or values exempts from an ImageValidatingPolicy."""
    keeps_tags_beside_digests: bool
    """Whether the tag of an image with a digest is known in CEL: `tag()` and `identifier()`."""
    marshals_parts: bool
    """Whether `json.marshal` in CEL encodes maps and nulls within the values that it is given."""
    exempts_variants: bool
    """Whether the command line applies exceptions to the variants of an ImageValidatingPolicy."""

    scans_image_variants: bool
    """Whether kinds are scanned that only variants of ImageValidatingPolicies match."""
    labels_namespaced_kinds: bool
    """Whether labels of ephemeral reports name namespaced kinds in CEL like their twins."""
    compiles_exceptions: bool
    """Whether a cluster rejects exceptions from policies in CEL whose conditions do not compile."""
    renews_in_place: bool
    """Whether objects of a changed GeneratingPolicy are updated, not deleted and generated again.

    The same happens hourly, and after a restart.
    """
    tracks_restored: bool
    """Whether an object of a GeneratingPolicy that was restored is restored a second time."""
    deprecated_kind: str
    """How texts about a deprecated kind name it."""
    policy_successors: str
    """What replaces a Policy, according to these texts."""
    locates_deprecated_fields: bool
    """Whether warnings about deprecated fields name each with its path."""
    reports_loaded_kinds: bool
    """Whether the command line reports the deprecated kinds of the files that it loads."""
    deprecates_definitions: bool
    """Whether the definitions of deprecated kinds say so, and each request for them is answered
    with a warning."""

    def __str__(self) -> str:
        return self.name

    def loaded(self, api_version: str, kind: str) -> str:
        """Return what the command line reports about a loaded document, "" for nothing."""
        return self.deprecation(api_version, kind) if self.reports_loaded_kinds else ""

    def requested(self, api_version: str, kind: str) -> str:
        """Return the warning about a requested kind as a whole, "" for none."""
        return self.deprecation(api_version, kind) if self.deprecates_definitions else ""

    def deprecation(self, api_version: str, kind: str) -> str:
        """Return the warning that a kind is deprecated, "" if it is not."""
        successors = self.policy_successors if kind == "Policy" else _SUCCESSORS.get(kind, "")
        if not successors or api_version.partition("/")[0] != "kyverno.io":
            return ""
        return (
            f"{self.deprecated_kind.format(api_version=api_version, kind=kind)} is deprecated and "
            f"will be removed in a future release; migrate to {successors} (policies.kyverno.io), "
            "see https://kyverno.io/docs/guides/migration-to-cel/"
        )

    def global_context_problem(self, form: str, *, namespaced: bool) -> str:
        """Return why a policy cannot read GlobalContextEntries in this form, or "".

        upstream: pkg/cel/compiler/http.go (ConfineGlobalContext)
        """
        confined = namespaced and self.confines_global_context
        return f"{form} is not allowed in namespaced policies" if confined else ""


_SUCCESSORS: Mapping[str, str] = MappingProxyType(
    {
        "ClusterPolicy": (
            "ValidatingPolicy, MutatingPolicy, GeneratingPolicy or ImageValidatingPolicy"
        ),
        "ClusterCleanupPolicy": "DeletingPolicy",
        "CleanupPolicy": "NamespacedDeletingPolicy",
        "PolicyException": "PolicyException",
    }
)


V_1_19_0 = Release(
    name="1.19.0",
    blocked_hosts=("169.254.169.254", "169.254.169.253", "metadata.google.internal"),
    blocked_networks=("127.0.0.0/8", "::1/128"),
    blocks_embedded_addresses=False,
    blocks_service_calls=False,
    decodes_paths=False,
    skips_scalars_at_wildcards=False,
    searches_all_expressions=False,
    confines_global_context=False,
    extracts_templates=False,
    without_variants=(
        ("NamespacedValidatingPolicy", False),
        ("NamespacedImageValidatingPolicy", True),
    ),
    checks_rights_for_variants=False,
    counts_partial_exceptions=True,
    keeps_tags_beside_digests=False,
    marshals_parts=False,
    exempts_variants=False,
    scans_image_variants=False,
    labels_namespaced_kinds=False,
    compiles_exceptions=False,
    renews_in_place=False,
    tracks_restored=False,
    deprecated_kind="{kind} (kyverno.io)",
    policy_successors=(
        "NamespacedValidatingPolicy, NamespacedMutatingPolicy, NamespacedGeneratingPolicy or "
        "NamespacedImageValidatingPolicy"
    ),
    locates_deprecated_fields=False,
    reports_loaded_kinds=False,
    deprecates_definitions=False,
)
V_1_19_1 = V_1_19_0._replace(
    name="1.19.1",
    blocked_hosts=("metadata.google.internal",),
    blocked_networks=(
        "169.254.169.254/32",
        "169.254.169.253/32",
        "fd00:ec2::254/128",
        "127.0.0.0/8",
        "::1/128",
    ),
    blocks_embedded_addresses=True,
    blocks_service_calls=True,
    decodes_paths=True,
    skips_scalars_at_wildcards=True,
    searches_all_expressions=True,
    confines_global_context=True,
    extracts_templates=True,
    without_variants=(("NamespacedImageValidatingPolicy", True),),
    checks_rights_for_variants=True,
    counts_partial_exceptions=False,
    keeps_tags_beside_digests=True,
    marshals_parts=True,
    exempts_variants=True,
    scans_image_variants=True,
    labels_namespaced_kinds=True,
    compiles_exceptions=True,
    renews_in_place=True,
    tracks_restored=True,
    deprecated_kind="{api_version} {kind}",
    policy_successors="NamespacedValidatingPolicy and the other namespaced policy types",
    locates_deprecated_fields=True,
    reports_loaded_kinds=True,
    deprecates_definitions=True,
)
NEWEST = V_1_19_1
RELEASES: Mapping[str, Release] = MappingProxyType({one.name: one for one in (V_1_19_0, V_1_19_1)})
"""The supported releases by their names, the oldest first."""


class PlannedRelease(NamedTuple):
    """A release that is announced, whose evaluation is not known yet."""

    name: str
    removed_kinds: frozenset[str]
    """The kinds of `kyverno.io` that have no effect any more."""


PLANNED: Mapping[str, PlannedRelease] = MappingProxyType(
    {"1.20": PlannedRelease("1.20", frozenset({"Policy", *_SUCCESSORS}))}
)
"""The releases after the newest supported one, by their names.

upstream: kyverno/kyverno#17214 and #17701
"""
