"""Checks of single rule types: targets of generate rules, images, Pod security."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeAlias

from kyvsim.kubernetes.go_text import quote, to_json
from kyvsim.kubernetes.objects import Path
from kyvsim.kubernetes.wildcard import has_wildcard
from kyvsim.languages.classic.validation.rule_bodies import unsupported_anchor
from kyvsim.languages.classic.validation.rule_parts import RuleCheck, RuleUnderCheck
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.policy import Policy
from kyvsim.policy.read import pattern_node
from kyvsim.policy.tree import PodSecurityExclusion
from kyvsim.policy.visit import written_at

if TYPE_CHECKING:
    from kyvsim.policy.images import Attestor, AttestorSet, ImageVerification
    from kyvsim.policy.rule import CloneList, Generate, GenerateTarget

# upstream: api/kyverno/v1/common_types.go, pkg/policy/generate/validate.go

IsClusterWide: TypeAlias = Callable[[str], bool | None]
"""Returns whether a kind, as apiVersion/kind or kind, is cluster-scoped; None if unknown."""


def unknown_scope_check(cluster_wide: IsClusterWide) -> RuleCheck:
    """Return the check that warns if a target is rejected although its scope is unknown."""

    def check(subject: RuleUnderCheck) -> Iterator[Diagnostic]:
        """KV113: a target without a namespace whose kind has an unknown scope."""
        generate = subject.rule.tree.generate
        for _, target in _targets(generate) if generate else ():
            if not target.kind or target.namespace or cluster_wide(_type_of(target)) is not None:
                continue
            text = (
                f"the scope of {target.kind} ({target.api_version}) is unknown, so it is treated"
                " as namespaced: pass its CRD with --crd-path if it is cluster-scoped"
            )
            found = subject.error((*target.path, "kind"), "KV113", text)
            yield found._replace(severity=Severity.WARNING)

    return check


def _targets(generate: "Generate") -> list[tuple[str, "GenerateTarget"]]:
    """Return the targets of a rule or of its loops, each with its path as upstream writes it."""
    if generate.foreach is None:
        return [("", generate.target)]
    return [(f".foreach[{index}]", loop.target) for index, loop in enumerate(generate.foreach)]


def generate_check(cluster_wide: IsClusterWide) -> RuleCheck:
    """Return the check of a generate rule, for a cluster with these scopes of kinds.

    A kind of unknown scope counts as namespaced, as in Kyverno's command line.
    """

    def check(subject: RuleUnderCheck) -> Iterator[Diagnostic]:
        """A rule has one source, and a target with kind, name, apiVersion and namespace."""
        generate = subject.rule.tree.generate
        if generate is None or "generate" not in subject.rule.tree.operations:
            return
        clone, clone_list = generate.target.clone, generate.target.clone_list
        sources = (
            generate.target.data is not None,
            clone is not None and bool(clone.name or clone.namespace),
            clone_list is not None and clone_list.kinds is not None,
            generate.foreach is not None,
        )
        if sum(sources) > 1:
            text = (
                f"{subject.text_path}: Forbidden: only one of generate patterns(data, clone, "
                "cloneList and foreach) can be specified"
            )
            yield subject.error(generate.path, "KV129", text)
            return
        for place, target in _targets(generate):
            for text in _problems(target, subject.policy, cluster_wide):
                path = (*target.path, *_field_of(text))
                # A missing field has no position.
                position = path if written_at(subject.rule.tree, path) else target.path
                error = subject.error(position, "KV129", f"{subject.text_path}{place}.{text}")
                note = next((note for sign, note in _NOTES if sign in text), "")
                yield error._replace(excerpt=(f"note: {note}",)) if note else error

    return check


def check_generate_data(subject: RuleUnderCheck) -> Iterator[Diagnostic]:
    """Data has no anchors, the selector of sources no wildcards; the kind is not the trigger's."""
    generate = subject.rule.tree.generate
    if generate is None or "generate" not in subject.rule.tree.operations:
        return
    place, target = f"path: {subject.text_path}.generate.", generate.target
    clone_list = target.clone_list
    if clone_list and has_wildcard(to_json(clone_list.selector)):
        text = f"{place}selector.: wildcard characters `*/?` not supported"
        yield subject.error((*clone_list.path, "selector"), "KV130", text)
    found = unsupported_anchor(pattern_node(target.data, (*target.path, "data")), frozenset())
    if found:
        text_path, reason, path = found
        text = f"{place}data.{text_path}.: anchors not supported on generate resources: {reason}"
        yield subject.error(path, "KV130", text)
    if target.kind in subject.rule.tree.match.own.kinds:
        text = "generation kind and match resource kind should not be the same"
        yield subject.error((*target.path, "kind"), "KV130", text)


_NOTES = (
    ("mixed scope", "clone namespaced and cluster-wide kinds in rules of their own"),
    ("can not be empty", "a generate rule names the apiVersion, kind and name of its object"),
    ("must not be set for a cluster-wide", "remove `namespace`"),
    ("must be set for a namespaced", "add `namespace`"),
)


def _field_of(text: str) -> Path:
    """Return the field of a target that a problem is about, which Kyverno does not always name."""
    if "the target must be a namespaced" in text:
        return ("kind",)
    if "cannot clone resources from" in text and "cloneList" not in text:
        return ("clone", "namespace")
    return tuple(text.partition(":")[0].split("."))


def _problems(
    target: "GenerateTarget", policy: Policy, cluster_wide: IsClusterWide
) -> Iterator[str]:
    """Yield the problems of one target, each beginning with the field."""
    kind = _type_of(target)
    mismatch = _mismatch(target, policy, kind if cluster_wide(kind) else "")
    if mismatch:
        yield f"namespace: Forbidden: target resource scope mismatched: {mismatch} "
    if target.kind and cluster_wide(kind):
        if target.namespace:
            yield (
                "namespace: Forbidden: target namespace must not be set for a cluster-wide resource"
            )
    elif target.kind and not target.namespace:
        yield "namespace: Forbidden: target namespace must be set for a namespaced resource"
    if target.clone_list and target.clone_list.kinds:
        yield from _source_problems(target.clone_list, policy, cluster_wide)
        return
    required = {"kind": target.kind, "name": target.name, "apiVersion": target.api_version}
    yield from (
        f"{name}: Forbidden: {name} can not be empty" for name in required if not required[name]
    )


def _type_of(target: "GenerateTarget") -> str:
    return f"{target.api_version}/{target.kind}"


def _mismatch(target: "GenerateTarget", policy: Policy, cluster_kind: str) -> str:
    """Return why a namespaced policy cannot have a target, or "".

    `cluster_kind` is the target's kind if it is cluster-scoped.
    """
    if policy.kind != "Policy":
        return ""
    if cluster_kind:
        return f"the target must be a namespaced resource: {cluster_kind}"
    reached = [("generate resources in", target.namespace)]
    if target.clone and target.clone.name:
        reached.append(("clone resources from", target.clone.namespace))
    return next(
        (
            f"a namespaced policy cannot {verb} other namespaces, expected: {policy.namespace}, "
            f"received: {namespace}"
            for verb, namespace in reached
            if namespace != policy.namespace
        ),
        "",
    )


def _source_problems(
    sources: "CloneList", policy: Policy, cluster_wide: IsClusterWide
) -> Iterator[str]:
    kinds, source = sources.kinds or (), sources.namespace
    if policy.kind == "Policy":
        for kind in kinds:
            if cluster_wide(kind):
                yield (
                    "cloneList.kinds: Forbidden: the source in cloneList must be a namespaced"
                    f" resource: {kind}"
                )
            if source != policy.namespace:
                yield (
                    "cloneList.namespace: Forbidden: a namespaced policy cannot clone resources"
                    f" from other namespace, expected: {policy.namespace}, received: {source}"
                )
    scopes = [bool(cluster_wide(kind)) for kind in kinds]
    if len(set(scopes)) > 1:
        yield "cloneList.kinds: Forbidden: mixed scope of target resources is forbidden"
    if not all(scopes) and not source:
        yield (
            "cloneList.namespace: Forbidden: namespace is required for namespaced target resources"
        )
    elif all(scopes) and source and policy.kind != "Policy":
        yield (
            "cloneList.namespace: Forbidden: namespace is forbidden for cluster-wide target"
            " resources"
        )


# Source of the rules: upstream api/kyverno/v1/image_verification_types.go

_ALGORITHMS = ("", "sha224", "sha256", "sha384", "sha512")


def check_images(subject: RuleUnderCheck) -> Iterator[Diagnostic]:
    """Every entry has references and valid attestors, and mutates nothing in Audit mode."""
    action = subject.policy.tree.validation_failure_action
    for index, image in enumerate(subject.rule.tree.verify_images or ()):
        # The failure action of an entry also applies to the entries after it.
        action = image.failure_action or action
        place = f"{subject.text_path}.verifyImages[{index}]"
        if action.lower() != "enforce" and image.mutate_digest:
            text = (
                f"{place}.mutateDigest: Invalid value: true: mutateDigest must be set to false for"
                " \u2018Audit\u2019 failure action"
            )
            yield subject.error((*image.path, "mutateDigest"), "KV139", text)
        for path, text in _image_problems(image):
            yield subject.error(path, "KV140", place + text)


def _image_problems(image: "ImageVerification") -> Iterator[tuple[Path, str]]:
    """Yield the paths and problems of an entry, each beginning with the path below it."""
    if not image.image_references:
        yield image.path, ": Invalid value: An image reference is required"
    for index, attestation in enumerate(image.attestations):
        for at, attestors in enumerate(attestation.attestors):
            yield from _set_problems(attestors, f".attestations[{index}].attestors[{at}]")
    for index, attestors in enumerate(image.attestors):
        yield from _set_problems(attestors, f".attestors[{index}]")
    if image.type == "Notary":
        for entry in (one for attestors in image.attestors for one in attestors.entries):
            if entry.path == image.path:
                continue  # of the old form, which upstream does not check here
            for field, authority in (("Keyless", entry.keyless), ("Keys", entry.keys)):
                if authority:
                    text = f"{field} field is not allowed for type notary"
                    yield entry.path, f".attestors: Invalid value: {text}"


def _set_problems(attestors: "AttestorSet", place: str) -> Iterator[tuple[Path, str]]:
    if attestors.required is not None and attestors.required > len(attestors.entries):
        path = (*attestors.path, "count")
        yield path, f"{place}: Invalid value: Count cannot exceed length of entries"
    if not attestors.entries:
        yield attestors.path, f"{place}: Invalid value: An entry is required"
    for index, entry in enumerate(attestors.entries):
        for text in _attestor_problems(entry, f"{place}.entries[{index}]"):
            yield entry.path, text
        if entry.attestor is not None:
            yield from _set_problems(entry.attestor, f"{place}.entries[{index}].attestor")


def _attestor_problems(entry: "Attestor", place: str) -> Iterator[str]:
    keys, certificates, keyless = entry.keys, entry.certificates, entry.keyless
    authorities = (keys, certificates, keyless, entry.attestor)
    if sum(one is not None for one in authorities) != 1:
        yield (
            f"{place}: Invalid value: keys, certificates, keyless, or a nested attestor is required"
        )
    if keys is not None:
        if not (keys.public_keys or keys.kms or keys.secret is not None):
            yield f"{place}.keys: Invalid value: A public key, kms key or secret is required"
        if keys.public_keys and keys.signature_algorithm not in _ALGORITHMS:
            yield f"{place}.keys: Invalid value: Invalid signature algorithm provided"
    if certificates is not None and not (certificates.cert or certificates.cert_chain):
        yield f"{place}.certificates: Invalid value: cert or certChain required"
    if keyless is not None:
        if keyless.rekor is None and not keyless.roots:
            yield f"{place}.keyless: Invalid value: Either Rekor URL or roots are required"
        if keyless.rekor is not None and not keyless.rekor.url:
            yield f"{place}.keyless: Invalid value: An URL is required"


# upstream: api/kyverno/v1/{rule,common}_types.go, pkg/pss/utils/mapping.go

_RESTRICTED = (
    "Volume Types",
    "Privilege Escalation",
    "Running as Non-root",
    "Running as Non-root user",
)
"""Controls that only the restricted level has."""
_OF_PODS = ("Host Namespaces", "HostPath Volumes", "Sysctls", "Volume Types")
_OF_CONTAINERS = (
    "Capabilities",
    "Privileged Containers",
    "Host Ports",
    "/proc Mount Type",
    "Privilege Escalation",
)


def check_pod_security(subject: RuleUnderCheck) -> Iterator[Diagnostic]:
    """Every exclusion of a podSecurity rule is complete and belongs to the rule's level."""
    validate = subject.rule.tree.validate
    if validate is None or validate.pod_security is None:
        return
    for index, entry in enumerate(validate.pod_security.exclude):
        place = f"{subject.text_path}.podSecurity.exclude[{index}]"
        for text in exclusion_problems(entry):
            yield subject.error(entry.path, "KV128", f"{place}.{text}")
        control = entry.control_name
        if validate.pod_security.level == "baseline" and control in _RESTRICTED:
            text = (
                f"{place}.controlName: Invalid value: {quote(control)}: Invalid control name"
                " defined at the given level"
            )
            yield subject.error(entry.path, "KV128", text)


def exclusion_problems(entry: PodSecurityExclusion) -> Iterator[str]:
    """Yield the problems of an exclusion of controls, each beginning with the field."""
    control, images = entry.control_name, entry.images
    if control in _OF_CONTAINERS and not images:
        yield (
            f"controlName: Invalid value: {quote(control)}: exclude.images must be specified for"
            " the container level control"
        )
    elif control in _OF_PODS and images:
        yield (
            f"controlName: Invalid value: {quote(control)}: exclude.images must not be specified"
            " for the pod level control"
        )
    if entry.restricted_field and not entry.values:
        yield "values: Forbidden: values is required"
    if entry.values and not entry.restricted_field:
        yield "restrictedField: Forbidden: restrictedField is required"
