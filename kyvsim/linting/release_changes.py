"""The differences between releases, and the parts of policies that each of them concerns.

The changes are found in the policies alone. They are for what an evaluation of manifests cannot
show, and name the cause of what it shows.
"""

import posixpath
from collections.abc import Callable, Container, Iterator
from typing import Final, NamedTuple, TypeAlias

from kyvsim.cel.nodes import Call, Ident, Literal, Node, children
from kyvsim.cel.parser import ExpressionSyntaxError, parse
from kyvsim.engine.context.restrictions import blocked, service_problem
from kyvsim.kubernetes.go_url import path_unescape
from kyvsim.kubernetes.objects import text_field
from kyvsim.languages.cel.exceptions import refused_by_cluster
from kyvsim.model.policy import CelException, Policy, PolicyException
from kyvsim.model.release import Release
from kyvsim.model.source import Document, Location, place_in_text
from kyvsim.model.upgrade import Impact, ReleaseChange
from kyvsim.policy.cel_autogen import extraction_variants, variants
from kyvsim.policy.cel_policy import expressions
from kyvsim.policy.images import ImageExtractor
from kyvsim.policy.nodes import Node as PolicyNode
from kyvsim.policy.tree import ApiCallEntry, GlobalReferenceEntry
from kyvsim.policy.visit import walk

Subject: TypeAlias = Policy | PolicyException | CelException
"""What a change may concern."""
Concerned: TypeAlias = Callable[[Subject, Release, Release], Iterator[Location]]
"""Yields the parts of a subject that a change between two releases concerns."""

_SCHEMES = ("http://", "https://")
_UNSEARCHED = frozenset({"targetMatchConstraints", "targetMatchConditions", "attestors"})
_IMAGES = frozenset({"ImageValidatingPolicy", "NamespacedImageValidatingPolicy"})


class KnownChange(NamedTuple):
    """A change with the function that finds what it concerns."""

    change: ReleaseChange
    concerned: Concerned


def changes_between(old: Release, new: Release) -> Iterator[KnownChange]:
    """Yield the changes from one release to a newer one, for which there is something to say."""
    for known in CHANGES:
        if any(getattr(old, fact) != getattr(new, fact) for fact in known.change.facts):
            yield known


def with_change(old: Release, new: Release, change: ReleaseChange) -> Release:
    """Return the older release with a single change."""
    return old._replace(**{fact: getattr(new, fact) for fact in change.facts})


def _rule_nodes(subject: Subject) -> Iterator[tuple[Document, PolicyNode]]:
    """Yield the nodes of a policy with rules."""
    if isinstance(subject, Policy):
        for rule in subject.rules:
            yield from ((subject.document, node) for node in walk(rule.tree))


def cel_places(
    subject: Subject, concerned: Callable[[Node], bool], fields: Container[object] = ()
) -> Iterator[Location]:
    """Yield the positions of some nodes in the expressions of a policy in CEL.

    `fields` are those of `spec` that are searched, by default all.
    """
    if not isinstance(subject, Policy) or subject.cel_tree is None:
        return
    for path, text, _ in expressions(subject.cel):
        if fields and path[1] not in fields:
            continue
        try:
            pending = [parse(text, frozenset())]
        except ExpressionSyntaxError:
            continue
        while pending:
            node = pending.pop()
            if concerned(node):
                yield place_in_text(subject.document, path, text, node.at)
            pending += children(node)


def _blocked_calls(subject: Subject, old: Release, new: Release) -> Iterator[Location]:
    """Yield calls of addresses that only the newer release blocks; variables are not resolved."""
    for document, entry in _rule_nodes(subject):
        if isinstance(entry, ApiCallEntry) and entry.service:
            url = text_field(entry.service, "url")
            call = (entry.name, "GET", url)
            if service_problem(*call, new) and not service_problem(*call, old):
                yield document.locate((*entry.path, "apiCall", "service", "url"))

    def is_blocked(node: Node) -> bool:
        url = str(node.value) if isinstance(node, Literal) else ""
        is_url = url.startswith(_SCHEMES)
        return is_url and bool(blocked("GET", url, new)) and not blocked("GET", url, old)

    yield from cel_places(subject, is_blocked)


def _encoded_paths(subject: Subject, _old: Release, _new: Release) -> Iterator[Location]:
    """Yield paths of API calls in namespaced policies whose meaning depends on decoding."""
    for document, entry in _rule_nodes(subject):
        if isinstance(entry, ApiCallEntry) and isinstance(subject, Policy) and subject.namespace:
            path = entry.url_path
            if posixpath.normpath(path_unescape(path)) != path_unescape(posixpath.normpath(path)):
                yield document.locate((*entry.path, "apiCall", "urlPath"))


def _wildcard_extractors(subject: Subject, _old: Release, _new: Release) -> Iterator[Location]:
    for document, node in _rule_nodes(subject):
        if isinstance(node, ImageExtractor) and "*" in node.field_path.split("/"):
            yield document.locate(node.path)


def _global_context(subject: Subject, _old: Release, _new: Release) -> Iterator[Location]:
    """Yield what reads GlobalContextEntries in a namespaced policy."""
    if not (isinstance(subject, Policy) and subject.namespace):
        return
    for document, node in _rule_nodes(subject):
        if isinstance(node, GlobalReferenceEntry):
            yield document.locate(node.path)
    yield from cel_places(
        subject, lambda one: isinstance(one, Ident) and one.name == "globalContext"
    )


def _unsearched_calls(subject: Subject, _old: Release, _new: Release) -> Iterator[Location]:
    """Yield calls over HTTP of namespaced policies in expressions that were not searched."""
    if isinstance(subject, Policy) and subject.namespace:
        yield from cel_places(
            subject, lambda one: isinstance(one, Ident) and one.name == "http", _UNSEARCHED
        )


def _custom_workloads(subject: Subject, _old: Release, _new: Release) -> Iterator[Location]:
    """Yield the controllers of validating policies, which custom workloads are among."""
    if not isinstance(subject, Policy) or subject.cel_tree is None:
        return
    if subject.kind.endswith("ValidatingPolicy") and any(extraction_variants(subject.cel)):
        yield subject.document.locate(("spec", "autogen", "podControllers", "controllers"))


def _webhook_variants(subject: Subject, old: Release, new: Release) -> Iterator[Location]:
    """Yield namespaced policies whose webhook has no rules for Pod controllers before."""
    if isinstance(subject, Policy) and subject.cel_tree is not None:
        served = {kind for kind, _ in set(old.without_variants) - set(new.without_variants)}
        if subject.kind in served and any(variants(subject.cel)):
            yield subject.document.locate(("spec", "matchConstraints"))


def _scanned_variants(subject: Subject, _old: Release, _new: Release) -> Iterator[Location]:
    """Yield image policies that are evaluated in the background and have variants."""
    if not isinstance(subject, Policy) or subject.kind not in _IMAGES:
        return
    if subject.background and any(variants(subject.cel)):
        yield subject.document.locate(("spec", "matchConstraints"))


def _partial_exceptions(subject: Subject, _old: Release, _new: Release) -> Iterator[Location]:
    if isinstance(subject, CelException) and not subject.is_full and _exempts_images(subject):
        yield subject.document.locate(("spec", "images" if subject.images else "allowedValues"))


def _image_exceptions(subject: Subject, _old: Release, _new: Release) -> Iterator[Location]:
    if isinstance(subject, CelException) and subject.is_full and _exempts_images(subject):
        yield subject.document.locate(("spec", "policyRefs"))


def _exempts_images(exception: CelException) -> bool:
    return any(one.kind in _IMAGES for one in exception.policies)


def _calls(*functions: str) -> Concerned:
    """Return a function that yields the calls of methods in CEL."""

    def is_call(node: Node) -> bool:
        return isinstance(node, Call) and node.target is not None and node.function in functions

    def concerned(subject: Subject, _old: Release, _new: Release) -> Iterator[Location]:
        return cel_places(subject, is_call)

    return concerned


def _synchronized(subject: Subject, _old: Release, _new: Release) -> Iterator[Location]:
    """Yield GeneratingPolicies that keep the generated objects up to date."""
    if not isinstance(subject, Policy) or subject.cel_tree is None:
        return
    if subject.kind.endswith("GeneratingPolicy") and subject.cel.evaluation.synchronize:
        yield subject.document.locate(("spec", "evaluation", "synchronize"))


def _uncompiled_conditions(subject: Subject, _old: Release, new: Release) -> Iterator[Location]:
    if isinstance(subject, CelException):
        yield from (one.location for one in refused_by_cluster(subject, new) if one.location)


def _deprecated_kinds(subject: Subject, _old: Release, new: Release) -> Iterator[Location]:
    data = subject.document.data
    if new.deprecation(text_field(data, "apiVersion"), text_field(data, "kind")):
        yield subject.document.locate(())


CHANGES: Final = (
    KnownChange(
        ReleaseChange(
            ("confines_global_context",),
            Impact.BREAKS,
            "policies in a namespace cannot read GlobalContextEntries: new ones are rejected, "
            "and stored ones end in an error",
            "make it a cluster-wide policy, or look up the data with an API call in its namespace",
        ),
        _global_context,
    ),
    KnownChange(
        ReleaseChange(
            (
                "blocked_hosts",
                "blocked_networks",
                "blocks_embedded_addresses",
                "blocks_service_calls",
            ),
            Impact.BREAKS,
            "calls of loopback and metadata addresses are blocked, also in service calls of "
            "context entries; answers in values files hide this from tests",
            "call a Service by its name, or change --httpBlocklist of Kyverno's controllers",
        ),
        _blocked_calls,
    ),
    KnownChange(
        ReleaseChange(
            ("decodes_paths",),
            Impact.BREAKS,
            "`urlPath` is decoded before its namespace is checked, so that `%2e%2e` cannot leave "
            "the namespace of the policy",
            "write the path without percent-encoding, within the namespace of the policy",
        ),
        _encoded_paths,
    ),
    KnownChange(
        ReleaseChange(
            ("searches_all_expressions",),
            Impact.BREAKS,
            "a cluster rejects a namespaced policy that makes HTTP calls in the targets of "
            "mutations or in attestors; it used to search the other expressions only",
            "move the call to a cluster-wide policy, or set --allowHTTPInNamespacedPolicies",
        ),
        _unsearched_calls,
    ),
    KnownChange(
        ReleaseChange(
            ("compiles_exceptions",),
            Impact.BREAKS,
            "a cluster rejects exceptions whose conditions do not compile, also those that use "
            "Kyverno's libraries; they used to be accepted",
            "write conditions with `object`, `oldObject`, `request` and `namespaceObject` only",
        ),
        _uncompiled_conditions,
    ),
    KnownChange(
        ReleaseChange(
            ("counts_partial_exceptions",),
            Impact.STRICTER,
            "an exception with `images` or `allowedValues` has no effect on an "
            "ImageValidatingPolicy; it used to exempt every image of the object",
            "select the objects with `matchConditions`, without `images` and `allowedValues`",
        ),
        _partial_exceptions,
    ),
    KnownChange(
        ReleaseChange(
            ("without_variants",),
            Impact.STRICTER,
            "the API server also sends Deployments and other Pod controllers to the policy, not "
            "only their Pods",
            "fix the controllers in the namespace that fail, which --resource shows",
        ),
        _webhook_variants,
    ),
    KnownChange(
        ReleaseChange(
            ("extracts_templates",),
            Impact.STRICTER,
            "custom workloads in `autogen.podControllers` are evaluated by their Pod templates; "
            "they used to be ignored",
            "fix the objects that fail, which --resource shows, or begin with "
            "`validationActions: [Audit]`",
        ),
        _custom_workloads,
    ),
    KnownChange(
        ReleaseChange(
            ("keeps_tags_beside_digests",),
            Impact.DIFFERENT,
            "`tag()` and `identifier()` of an image with a digest contain its tag, and "
            "`identifierWithSeparator()` exists",
            "evaluate objects with images such as `name:tag@sha256:…` with --resource",
        ),
        _calls("tag", "identifier", "identifierWithSeparator"),
    ),
    KnownChange(
        ReleaseChange(
            ("marshals_parts",),
            Impact.DIFFERENT,
            "`json.marshal` encodes nested maps, which used to be an error, and null as `null`, "
            "which used to be `0`",
            "evaluate objects for which the text contains maps or null with --resource",
        ),
        _calls("marshal"),
    ),
    KnownChange(
        ReleaseChange(
            ("skips_scalars_at_wildcards",),
            Impact.DIFFERENT,
            "image extractors with `*`, and the images of containers, skip what cannot be an "
            "image; it used to be an error of the rule",
            "evaluate objects of this kind with --resource",
        ),
        _wildcard_extractors,
    ),
    KnownChange(
        ReleaseChange(
            ("renews_in_place", "tracks_restored"),
            Impact.DIFFERENT,
            "generated objects are updated when the policy changes, every hour and after a "
            "restart; they used to be deleted and generated again, and were restored only once",
            "compare both with --scenario, and change what depends on new objects",
        ),
        _synchronized,
    ),
    KnownChange(
        ReleaseChange(
            ("scans_image_variants",),
            Impact.DIFFERENT,
            "background scans also report on Deployments and other Pod controllers if only "
            "ImageValidatingPolicies match them",
            "expect more results in reports; --resource shows them",
        ),
        _scanned_variants,
    ),
    KnownChange(
        ReleaseChange(
            ("exempts_variants",),
            Impact.NONE,
            "`kyverno apply` and `kyverno test` also exempt Pod controllers, as the cluster does",
            "update tests that expect another result",
        ),
        _image_exceptions,
    ),
    KnownChange(
        ReleaseChange(
            ("reports_loaded_kinds", "deprecates_definitions"),
            Impact.NONE,
            "`kyverno apply` and `kyverno test` print a line `Warning: …` for each document of "
            "these kinds on standard output, also before JSON and YAML, and `kubectl` prints one "
            "on standard error for each request",
            "remove these lines in scripts; `kyvsim upgrade --to 1.20` shows what replaces them",
        ),
        _deprecated_kinds,
    ),
)
"""The changes of all releases, the most important first."""

NOT_IN_POLICIES: Final = frozenset(
    {
        "name",
        # Texts of warnings.
        *("deprecated_kind", "policy_successors", "locates_deprecated_fields"),
        # Labels of reports.
        "labels_namespaced_kinds",
        # Depends on the roles of a cluster.
        "checks_rights_for_variants",
    }
)
"""The fields of `Release` whose effects no policy shows."""
