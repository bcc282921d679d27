"""The objects in which the API server finds Kyverno's webhooks for resources.

Source of the rules: upstream pkg/controllers/webhook/controller.go.
"""

import json
from collections.abc import Iterator
from types import MappingProxyType

from kyvsim.kubernetes.objects import Json, text_field
from kyvsim.model.policy import Policy
from kyvsim.simulator.api_server import Change, Store
from kyvsim.simulator.api_server.defaults import with_defaults
from kyvsim.simulator.api_server.metadata import with_metadata
from kyvsim.simulator.kyverno.cel_admission import PINNING_WEBHOOKS, WEBHOOKS
from kyvsim.simulator.kyverno.configuration import settings_of
from kyvsim.simulator.kyverno.installed import Kyverno
from kyvsim.simulator.kyverno.native_policies import is_left_to_the_server
from kyvsim.simulator.latency import NOTICE
from kyvsim.simulator.webhooks.cel import cel_webhooks
from kyvsim.simulator.webhooks.classic import Entries, classic_webhooks
from kyvsim.simulator.webhooks.rules import installed_selectors

_ACTOR = "admission-controller"
_API = "admissionregistration.k8s.io/v1"
_NAMES = MappingProxyType(
    {
        False: ("ValidatingWebhookConfiguration", "kyverno-resource-validating-webhook-cfg"),
        True: ("MutatingWebhookConfiguration", "kyverno-resource-mutating-webhook-cfg"),
    }
)
_MANAGED = ("webhook.kyverno.io/managed-by", "kyverno")


def write_webhooks(kyverno: Kyverno) -> None:
    """Keep the configurations as the policies want them, from now on.

    They are written in the step that makes a policy act, without a request of their own: what the
    API server asks Kyverno about is worked out for each request.
    """
    parts = kyverno.parts
    entries = Entries(parts.store)

    def write() -> None:
        every = (one.policy for one in kyverno.cache.every())
        policies = [one for one in every if not kyverno.cache.is_left_to_the_server(one)]
        for mutating, (kind, name) in _NAMES.items():
            found = _configuration(policies, parts.store, entries, mutating=mutating)
            before = parts.store.get(_API, kind, "", name)
            stamp = {
                "uid": parts.identities.uid(_API, kind, "", name),
                "creationTimestamp": parts.clock.stamp(),
                "generation": 1,
            }
            if before is None:
                parts.store.put(with_metadata(found, stamp))
            elif before.get("webhooks") != found.get("webhooks"):
                parts.store.put({**found, "metadata": before["metadata"]})

    def observe(change: Change) -> None:
        if is_left_to_the_server(change.old) != is_left_to_the_server(change.new):
            parts.scheduler.after(NOTICE, _ACTOR, write)

    kyverno.policies.changed.append(lambda *_: write())
    kyverno.policies.dropped.append(lambda _: write())
    parts.store.watch(observe)
    write()


def _configuration(
    policies: list[Policy], store: Store, entries: Entries, *, mutating: bool
) -> Json:
    kind, name = _NAMES[mutating]
    settings = settings_of(store)
    notes = json.loads(settings.get("webhookAnnotations") or "{}")
    labels = json.loads(settings.get("webhookLabels") or "{}")
    meta = {"name": name, "labels": {**labels, _MANAGED[0]: _MANAGED[1]}}
    if notes:
        meta["annotations"] = notes
    webhooks = sorted(
        _webhooks(policies, store, entries, mutating=mutating),
        key=lambda one: text_field(one, "name"),
    )
    found = {"apiVersion": _API, "kind": kind, "metadata": meta, "webhooks": webhooks}
    return with_defaults(found)


def _webhooks(
    policies: list[Policy], store: Store, entries: Entries, *, mutating: bool
) -> Iterator[Json]:
    selectors = installed_selectors(store)
    older = [one for one in policies if one.kind in {"ClusterPolicy", "Policy"}]
    yield from classic_webhooks(older, entries, selectors, mutating=mutating)
    pinning = [one for one in policies if one.facts.pins_images]
    for every, hooks in ((policies, WEBHOOKS), (pinning, PINNING_WEBHOOKS)):
        for kind, hook in hooks.items():
            if hook.mutates is not mutating:
                continue
            some = [one for one in every if one.kind == kind]
            yield from cel_webhooks(some, hook.name, hook.path, selectors)
