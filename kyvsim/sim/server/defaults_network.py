"""Defaults of Services and NetworkPolicies.

Source of the rules: k8s.io/kubernetes pkg/apis/core/v1/defaults.go and
pkg/apis/networking/v1/defaults.go.
"""

from kyvsim.kube.objects import Json
from kyvsim.sim.server.filling import changed, each, filled

_REACHABLE = frozenset({"NodePort", "LoadBalancer"})
_TCP = (("protocol", "TCP"),)


def service(obj: Json) -> Json:
    """Return a Service with its defaults; addresses come later."""
    return changed(obj, "spec", _service_spec)


def network_policy(obj: Json) -> Json:
    """Return a NetworkPolicy with its defaults: what it is about follows from what it says."""
    return changed(obj, "spec", _policy_spec)


def _service_spec(spec: Json) -> Json:
    spec = filled(spec, {"type": "ClusterIP", "sessionAffinity": "None"})
    if spec.__class__ is not dict:
        return spec
    spec = changed(spec, "ports", lambda some: each(some, _port))
    if spec["type"] == "ExternalName":
        return spec
    defaults: dict[str, Json] = {
        "internalTrafficPolicy": "Cluster",
        "ipFamilies": ["IPv4"],
        "ipFamilyPolicy": "SingleStack",
    }
    if spec["type"] in _REACHABLE:
        defaults["externalTrafficPolicy"] = "Cluster"
    if spec["type"] == "LoadBalancer":
        defaults["allocateLoadBalancerNodePorts"] = True
    return filled(spec, defaults)


def _port(port: Json) -> Json:
    return filled(port, {"protocol": "TCP", "targetPort": port.get("port")})


def _policy_spec(spec: Json) -> Json:
    if spec.__class__ is not dict:
        return spec
    types = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]
    spec = filled(spec, {"policyTypes": types})
    for side in ("ingress", "egress"):
        spec = changed(spec, side, lambda some: each(some, _rule))
    return spec


def _rule(rule: Json) -> Json:
    return changed(rule, "ports", lambda some: each(some, lambda one: filled(one, dict(_TCP))))
