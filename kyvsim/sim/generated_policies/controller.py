"""Keeps the admission policies that are made of policies in CEL.

They are made anew when the policy, an exception for it, or they themselves change; with the policy
they go by their owner references.

Source of the rules: upstream pkg/controllers/admissionpolicygenerator.
"""

from collections.abc import Iterator
from functools import partial

from kyvsim.kube.objects import Json, ObjectKey, metadata, object_key
from kyvsim.model.policy import Policy
from kyvsim.sim.generated_policies.building import built
from kyvsim.sim.kyverno.generated import plan_of
from kyvsim.sim.kyverno.installed import Kyverno
from kyvsim.sim.kyverno.users import ADMISSION
from kyvsim.sim.latency import NOTICE
from kyvsim.sim.server import Change

_ACTOR = "admission-policy-generator"
_GROUP = "policies.kyverno.io"
_NATIVE = "admissionregistration.k8s.io/"
_SOURCES = ("MutatingPolicy", "ValidatingPolicy")


def start_generated_policies(kyverno: Kyverno) -> None:
    """Make the admission policies of each policy that acts, and keep them."""
    generator = _Generator(kyverno)
    kyverno.policies.changed.append(lambda policy, _: generator.reconcile(policy))
    kyverno.parts.store.watch(generator.observe)


class _Generator:
    def __init__(self, kyverno: Kyverno) -> None:
        self._kyverno = kyverno
        self._parts = kyverno.parts
        self._client = kyverno.parts.client(ADMISSION)

    def observe(self, change: Change) -> None:
        """Look again at the policies that a change is about."""
        if change.old is not None and change.new is not None and not _differs(change):
            return
        for kind, name in self._concerned(change.subject):
            self._parts.scheduler.after(NOTICE, _ACTOR, partial(self._renew, kind, name))

    def _concerned(self, subject: Json) -> Iterator[tuple[str, str]]:
        """Yield kind and name of the policies that an object belongs to."""
        key = object_key(subject)
        if key.kind == "PolicyException" and key.api_version.startswith(f"{_GROUP}/"):
            for one in subject["spec"].get("policyRefs") or ():
                if one.get("kind") in _SOURCES:
                    yield one["kind"], one["name"]
        elif key.api_version.startswith(_NATIVE) and "AdmissionPolicy" in key.kind:
            for one in metadata(subject).get("ownerReferences") or ():
                if one["kind"] in _SOURCES:
                    yield one["kind"], one["name"]

    def _renew(self, kind: str, name: str) -> None:
        obj = self._parts.store.get(f"{_GROUP}/v1", kind, "", name)
        policy = self._parts.readers.policy(obj)[0] if obj is not None else None
        if policy is not None:
            self.reconcile(policy)

    def reconcile(self, policy: Policy) -> None:
        """Make what is to be there for a policy, or take it away."""
        plan = plan_of(policy, self._parts.settings.installation)
        stored = self._parts.store.get(f"{_GROUP}/v1", policy.kind, "", policy.name)
        if plan is None or stored is None:
            return
        found = built(plan, stored, self._exceptions(policy.name))
        for made in found:
            if plan.why_not:
                self._remove(object_key(made))
            else:
                self._write(made)

    def _exceptions(self, name: str) -> list[Json]:
        """Return the exceptions that name a policy, of whatever kind they take it for."""
        return [
            one
            for one in self._parts.store.list(f"{_GROUP}/v1", "PolicyException", "")
            if any(ref["name"] == name for ref in one["spec"].get("policyRefs") or ())
        ]

    def _remove(self, key: ObjectKey) -> None:
        if self._client.get(*key) is not None:
            self._client.delete(key)

    def _write(self, made: Json) -> None:
        before = self._client.get(*object_key(made))
        if before is None:
            self._client.create(made)
        else:
            meta = {**metadata(before), **metadata(made)}
            self._client.update({**before, "metadata": meta, "spec": made["spec"]})


def _differs(change: Change) -> bool:
    return bool((change.old or {}).get("spec") != (change.new or {}).get("spec"))
