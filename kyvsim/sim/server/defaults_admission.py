"""Defaults of webhook configurations and admission policies.

Source of the rules: k8s.io/kubernetes pkg/apis/admissionregistration/v1/defaults.go.
"""

from kyvsim.kube.objects import Json, text_field
from kyvsim.sim.server.filling import changed, each, filled


def webhooks(obj: Json) -> Json:
    """Return a webhook configuration with its defaults."""
    mutates = text_field(obj, "kind") == "MutatingWebhookConfiguration"
    return changed(obj, "webhooks", lambda some: each(some, lambda one: _webhook(one, mutates)))


def policy(obj: Json) -> Json:
    """Return a ValidatingAdmissionPolicy with its defaults."""
    return changed(obj, "spec", _policy_spec)


def mutating_policy(obj: Json) -> Json:
    """Return a MutatingAdmissionPolicy with its defaults."""
    complete = changed(obj, "spec", _policy_spec)
    return changed(complete, "spec", lambda spec: filled(spec, {"reinvocationPolicy": "Never"}))


def binding(obj: Json) -> Json:
    """Return a binding of such a policy with its defaults."""
    return changed(obj, "spec", lambda spec: changed(spec, "matchResources", _constraints))


def _webhook(webhook: Json, mutates: bool) -> Json:
    defaults = {
        "failurePolicy": "Fail",
        "matchPolicy": "Equivalent",
        "namespaceSelector": {},
        "objectSelector": {},
        "timeoutSeconds": 10,
        **({"reinvocationPolicy": "Never"} if mutates else {}),
    }
    return changed(filled(webhook, defaults), "rules", lambda some: each(some, _rule))


def _rule(rule: Json) -> Json:
    return filled(rule, {"scope": "*"})


def _policy_spec(spec: Json) -> Json:
    return changed(filled(spec, {"failurePolicy": "Fail"}), "matchConstraints", _constraints)


def _constraints(constraints: Json) -> Json:
    defaults = {"matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {}}
    return changed(filled(constraints, defaults), "resourceRules", lambda some: each(some, _rule))
