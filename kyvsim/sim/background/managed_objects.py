"""Requests about objects that rules generated, or copied from: others changed them.

Source of the rules: upstream pkg/webhooks/resource/generation/handler.go (processRequest).
"""

from collections.abc import Iterator

from kyvsim.engine import World
from kyvsim.engine.background import old_facts
from kyvsim.kube.gvk import split_api_version
from kyvsim.kube.objects import Json, labels, metadata, object_key, text_field
from kyvsim.model.request import AdmissionRequest
from kyvsim.sim.background.ownership import LABEL, MANAGED, selected, trigger_from_labels
from kyvsim.sim.background.update_requests import GENERATE, Work, rule_context
from kyvsim.sim.kyverno.installed import Kyverno
from kyvsim.sim.kyverno.users import ADMISSION


def managed_work(kyverno: Kyverno, request: AdmissionRequest) -> list[Work]:
    """Return the work that restores what was generated, or follows its source."""
    old = request.old_object
    marks = labels(old) if old else {}
    if f"{LABEL}clone-source" not in marks and not marks.get(f"{LABEL}policy-name"):
        return []
    if MANAGED.items() <= marks.items():
        return [*_restoring(kyverno, request, marks, deletes=False)]
    gone = not request.object
    return [
        work
        for copy in _copies(kyverno, old)
        for work in _restoring(kyverno, request, labels(copy), deletes=gone)
    ]


def _copies(kyverno: Kyverno, source: Json) -> list[Json]:
    api_version, kind, namespace, _ = object_key(source)
    group, version = split_api_version(api_version)
    wanted = {
        f"{LABEL}source-group": group,
        f"{LABEL}source-version": version,
        f"{LABEL}source-kind": kind,
        f"{LABEL}source-namespace": namespace,
        f"{LABEL}source-uid": text_field(metadata(source), "uid"),
    }
    return selected(kyverno.parts.store, api_version, kind, wanted)


def _restoring(
    kyverno: Kyverno, request: AdmissionRequest, marks: dict[str, str], *, deletes: bool
) -> Iterator[Work]:
    name = marks.get(f"{LABEL}policy-name", "")
    namespace = marks.get(f"{LABEL}policy-namespace", "")
    policy = kyverno.cache.get(f"{namespace}/{name}" if namespace else name)
    facts = old_facts(request, World(kyverno.parts.store, account=ADMISSION))
    if policy is None or facts is None:
        return
    trigger = trigger_from_labels(marks)
    contexts = tuple(
        rule_context(one.rule.name, trigger, deletes=deletes)
        for one in policy.rules
        if one.rule.name == marks.get(f"{LABEL}rule-name")
        and (generation := one.rule.facts.generation) is not None
        and generation.synchronizes
        and not one.matches(facts)  # else it is the trigger as well
    )
    if contexts:
        yield Work(GENERATE, policy.policy.key, contexts)
