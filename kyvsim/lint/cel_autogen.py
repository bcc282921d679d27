"""Checks of CEL policies on Pods: what autogen derives for Pod controllers may not work."""

from collections.abc import Iterator

from kyvsim.cel.nodes import Call, Literal, Node, Select, StructLiteral, dotted_name
from kyvsim.kubernetes.objects import Json
from kyvsim.lint.cel_policy import CelPolicy, is_name, selected
from kyvsim.model.diagnostic import Diagnostic

# Settings that keep a policy on Pods from their controllers without saying so.
#
# Variants are derived only where Pods are all that a policy names.
#
# Source of the rules: upstream pkg/cel/autogen

_CONTROLLERS = ("deployments", "daemonsets", "replicasets", "statefulsets", "jobs", "cronjobs")


def controllers_left_out(policy: CelPolicy) -> Iterator[Diagnostic]:
    """KV245: subresources matched besides Pods, KV246: an autogen setting that has no effect."""
    if not policy.derivable:
        return
    wanted = ((policy.spec.get("autogen") or {}).get("podControllers") or {}).get("controllers")
    path = ("spec", "autogen", "podControllers", "controllers")
    for index, name in enumerate(wanted or ()):
        if name not in _CONTROLLERS:
            text = (
                f"autogen does not know `{name}`, so no variant is derived for it: use {_listed()}"
            )
            yield policy.warn("KV246", text, (*path, index))
    if policy.is_about_pods:
        return
    beside = _beside_pods(policy.spec.get("matchConstraints") or {})
    if wanted:
        text = "no variant is derived: autogen needs a policy that matches only Pods"
        yield policy.warn("KV246", text, path)
    elif beside and wanted is None and _looks_at_templates(policy):
        text = (
            f"no variants are derived for Pod controllers, because the policy matches `{beside}` "
            "besides `pods`: only the Pods of a Deployment are checked (match the controllers "
            "too, or set `spec.autogen.podControllers.controllers: []` if that is intended)"
        )
        place = ("spec", "matchConstraints", "resourceRules")
        yield policy.warn("KV245", text, place)


def _looks_at_templates(policy: CelPolicy) -> bool:
    """Return whether expressions look at what templates of Pods have, too."""
    fields = {
        node.field
        for one in policy.expressions
        for node in one.nodes()
        if isinstance(node, Select) and dotted_name(node.operand) == "object.spec"
    }
    return fields != {"ephemeralContainers"}


def _listed() -> str:
    return ", ".join(f"`{name}`" for name in _CONTROLLERS)


def _beside_pods(constraints: Json) -> str:
    """Return a subresource of Pods, where Pods and such are all that is named; "" otherwise."""
    rules = constraints.get("resourceRules") or ()
    names = [name for rule in rules for name in rule.get("resources") or ()]
    groups = {group for rule in rules for group in rule.get("apiGroups") or ()}
    others = [name for name in names if name != "pods"]
    is_plain = "pods" in names and all(name.startswith("pods/") for name in others)
    return others[0] if is_plain and others and groups == {""} else ""


# Ways to a Pod's fields that stay as they are in what is derived for controllers.
#
# Derived expressions are made by replacing the text `object.spec`: what is spelled differently
# looks at the controller's own fields, finds nothing, and may well pass.
#
# Source of the rules: upstream pkg/cel/autogen

_OBJECTS = ("object", "oldObject")


def controllers_spec(policy: CelPolicy) -> Iterator[Diagnostic]:
    """KV243: a path to Pod fields that autogen does not rewrite."""
    if not policy.is_derived:
        return
    for one in policy.expressions:
        spellings = dict.fromkeys(filter(None, map(_spelling, one.nodes())))
        for spelled, plain in spellings:
            text = (
                f"`{spelled}` is not rewritten in the variants for Pod controllers: there it is "
                "the field of the controller itself, for example the Deployment, not of its Pod "
                f"template (`{plain}` is rewritten)"
            )
            yield policy.warn("KV243", text, one.path)


def _spelling(node: Node) -> tuple[str, str] | None:
    """Return how a node writes `object.spec`, and how it ought to; None where it is fine."""
    if isinstance(node, Select) and node.optional and node.field == "spec":
        for name in _OBJECTS:
            if is_name(node.operand, name):
                return f"{name}.?spec", f"{name}.spec"
    if isinstance(node, Call) and node.function in {"_[_]", "_[?_]"}:
        operand, key = node.arguments
        for name in _OBJECTS:
            if is_name(operand, name) and isinstance(key, Literal) and key.value == "spec":
                mark = "?" if node.function == "_[?_]" else ""
                return f"{name}[{mark}'spec']", f"{name}.spec"
    return None


# Metadata that Pods have and the templates of their controllers do not.
#
# In what is derived for controllers, `object.metadata` is the metadata of the Pod's template.
#
# Source of the rules: upstream pkg/cel/autogen

_OBJECT_METADATA = ("name", "generateName", "uid", "ownerReferences")
_METADATA_PATHS = frozenset(f"object.metadata.{name}" for name in _OBJECT_METADATA)


def controllers_metadata(policy: CelPolicy) -> Iterator[Diagnostic]:
    """KV244: metadata of Pods that Pod templates do not have."""
    if not policy.is_derived:
        return
    for one in policy.expressions:
        found = dict.fromkeys(
            name for node in one.nodes() if (name := selected(node)) in _METADATA_PATHS
        )
        for name in found:
            if policy.tests_presence(name):
                continue
            field = name.rpartition(".")[2]
            text = (
                f"`{name}` has no value in the variants for Pod controllers: there it is "
                f"`object.spec.template.metadata.{field}`, which Pod templates do not set (test "
                "it with `has`, or set `spec.autogen.podControllers.controllers: []`)"
            )
            yield policy.warn("KV244", text, one.path)


# Metadata that a mutation writes as an object: on controllers of Pods the type is another one.
#
# What is derived puts the whole object into the template, and leaves the names of types inside.
#
# Source of the rules: upstream pkg/cel/policies/mpol/autogen


def metadata_of_templates(policy: CelPolicy) -> Iterator[Diagnostic]:
    """KV253: metadata that a mutation sets as a typed object, also in variants."""
    if not policy.is_moved:
        return
    for one in policy.expressions:
        is_object = one.list_name == "mutations" and one.path[-2] == "applyConfiguration"
        if is_object and _writes_metadata(one.root):
            text = (
                "the variants for Pod controllers always end in an error: they contain "
                "`Object.metadata` where `Object.spec.template.metadata` is required (set "
                "`spec.autogen.podControllers.controllers: []`, and match the controllers in a "
                "policy of their own)"
            )
            yield policy.warn("KV253", text, one.path)


def _writes_metadata(root: Node) -> bool:
    if not isinstance(root, StructLiteral) or root.type_name != "Object":
        return False
    return any(
        one.name == "metadata" and isinstance(one.value, StructLiteral) for one in root.fields
    )


# JSON patches in policies with variants for Pod controllers: their paths are not changed.
#
# Source of the rules: upstream pkg/cel/policies/mpol/autogen


def unmoved_patches(policy: CelPolicy) -> Iterator[Diagnostic]:
    """KV254: a JSON patch for Pods that autogen also applies to their controllers."""
    if not policy.is_moved:
        return
    for one in policy.expressions:
        is_patch = one.list_name == "mutations" and one.path[-2] == "jsonPatch"
        if is_patch and not any(selected(node) == "object.kind" for node in one.nodes()):
            text = (
                "the patch is not rewritten in the variants for Pod controllers: it writes to "
                "the same paths of the Deployment itself, not of its Pod template (test "
                "`object.kind`, or set `spec.autogen.podControllers.controllers: []`)"
            )
            yield policy.warn("KV254", text, one.path)
