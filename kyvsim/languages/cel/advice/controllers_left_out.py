"""Settings that keep a policy on Pods from their controllers without saying so.

Variants are derived only where Pods are all that a policy names.
upstream: pkg/cel/autogen
"""

from collections.abc import Iterator

from kyvsim.cel.nodes import Select, dotted_name
from kyvsim.engine.compile.compiled import warn
from kyvsim.kubernetes.objects import Json
from kyvsim.languages.cel_advice.written import Written
from kyvsim.model.diagnostic import Diagnostic

_KNOWN = ("deployments", "daemonsets", "replicasets", "statefulsets", "jobs", "cronjobs")


def controllers_left_out(written: Written) -> Iterator[Diagnostic]:
    """KV245: subresources beside Pods, KV246: an autogen setting that has no effect."""
    if not written.derivable:
        return
    wanted = ((written.spec.get("autogen") or {}).get("podControllers") or {}).get("controllers")
    path = ("spec", "autogen", "podControllers", "controllers")
    for index, name in enumerate(wanted or ()):
        if name not in _KNOWN:
            text = f"no variant is derived for `{name}`: autogen knows {_listed()}"
            yield warn(written.policy.document, "KV246", text, (*path, index))
    if written.is_about_pods:
        return
    beside = _beside_pods(written.spec.get("matchConstraints") or {})
    if wanted:
        text = "no variant is derived: the policy does not match Pods and nothing but Pods"
        yield warn(written.policy.document, "KV246", text, path)
    elif beside and wanted is None and _looks_at_templates(written):
        text = (
            f"nothing is derived for the controllers of Pods, because `{beside}` stands beside "
            "`pods`: of a Deployment only its Pods are looked at (name the controllers too, or set "
            "`spec.autogen.podControllers.controllers: []` where that is meant)"
        )
        place = ("spec", "matchConstraints", "resourceRules")
        yield warn(written.policy.document, "KV245", text, place)


def _looks_at_templates(written: Written) -> bool:
    """Return whether expressions look at what templates of Pods have, too."""
    fields = {
        node.field
        for one in written.expressions
        for node in one.nodes()
        if isinstance(node, Select) and dotted_name(node.operand) == "object.spec"
    }
    return fields != {"ephemeralContainers"}


def _listed() -> str:
    return ", ".join(f"`{name}`" for name in _KNOWN)


def _beside_pods(constraints: Json) -> str:
    """Return a subresource of Pods, where Pods and such are all that is named; "" otherwise."""
    rules = constraints.get("resourceRules") or ()
    names = [name for rule in rules for name in rule.get("resources") or ()]
    groups = {group for rule in rules for group in rule.get("apiGroups") or ()}
    others = [name for name in names if name != "pods"]
    is_plain = "pods" in names and all(name.startswith("pods/") for name in others)
    return others[0] if is_plain and others and groups == {""} else ""
