"""Generated objects: written as rules want them, found again, and deleted.

Source of the rules: upstream pkg/background/generate (generator.go, data.go, clone.go, cleanup.go,
source.go).
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kyvsim.kube.gvk import parse_kind_selector, split_api_version
from kyvsim.kube.objects import Json, ObjectKey, labels, metadata, object_key, text_field
from kyvsim.languages.classic.rules.downstream import with_owner_labels
from kyvsim.model.facts import GeneratePattern
from kyvsim.model.obstacle import Obstacle
from kyvsim.model.policy import Policy, Rule
from kyvsim.model.request import Operation
from kyvsim.patch.merge_patch import merge_patch
from kyvsim.sim.background.attempt import obstacle_of
from kyvsim.sim.background.ownership import LABEL, policy_labels, selected
from kyvsim.sim.kyverno.users import BACKGROUND
from kyvsim.sim.parts import Parts
from kyvsim.sim.server import ApiError, ApiRequest, ApiResponse, Client, Purpose
from kyvsim.sim.server.authorizer import denial
from kyvsim.sim.server.metadata import with_metadata

_SOURCE = f"{LABEL}clone-source"


class Owner(NamedTuple):
    """On whose behalf an object is written."""

    policy: Policy
    rule: Rule
    trigger: Json

    @property
    def synchronizes(self) -> bool:
        """Whether what is there already is made what the rule wants."""
        generation = self.rule.facts.generation
        return generation is not None and generation.synchronizes

    @property
    def name(self) -> str:
        """The rule, as the timeline calls it."""
        return f"{self.policy.key}/{self.rule.name}"

    def client(self, action: str, parts: Parts) -> Client:
        """Return the API for requests that do something on account of the rule."""
        return parts.client(BACKGROUND, Purpose(action, (self.name,)))


class Realized(NamedTuple):
    """How it ended that an object was to be as a rule wants it."""

    created: Json = None
    """The object, where it was not there before."""
    error: ApiError | None = None
    key: ObjectKey | None = None
    """What the error is about."""


def realize(wanted: Json, owner: Owner, parts: Parts) -> Realized:
    """Let an object be as a rule wants it; return whether it is new, or why that failed."""
    key = object_key(wanted)
    refused = _read_refusal(wanted, parts)
    if refused is not None:
        return Realized(error=refused[1], key=refused[0])
    _mark_source(wanted, owner, parts)
    owned = with_owner_labels(wanted, owner.policy, owner.rule, owner.trigger)
    live = parts.store.get(*key)
    if live is None:
        response = owner.client("generate", parts).create(owned)
        exists = response.error is not None and response.error.reason == "AlreadyExists"
        return Realized(owned) if exists else Realized(response.object, response.error, key)
    if not owner.synchronizes or (_is_copy(wanted) and _is_same(owned, live)):
        return Realized()
    return Realized(error=_update(owned, live, owner, parts).error, key=key)


def _update(owned: Json, live: Json, owner: Owner, parts: Parts) -> ApiResponse:
    client = owner.client("synchronize", parts)
    if owner.policy.facts.applies_server_side:
        applied = merge_patch(live, owned)
        return client.send(
            ApiRequest(Operation.UPDATE, object_key(live), BACKGROUND, applied, patch="apply")
        )
    version = metadata(live).get("resourceVersion")
    return client.update(with_metadata(owned, {"resourceVersion": version}))


def _is_copy(wanted: Json) -> bool:
    return f"{LABEL}source-uid" in labels(wanted)


def _is_same(owned: Json, live: Json) -> bool:
    """Return whether a copy and what is there differ in nothing that a client writes."""
    return bool(_written(owned) == _written(live))


def _written(obj: Json) -> Json:
    unset = dict.fromkeys(
        ("uid", "creationTimestamp", "resourceVersion", "generation", "managedFields")
    )
    return with_metadata(obj, unset)


def _read_refusal(wanted: Json, parts: Parts) -> tuple[ObjectKey, ApiError] | None:
    """Return why the source of a copy, or what is there already, cannot be read, or None."""
    source = _source_of(wanted, parts)
    for obj in (source, wanted) if source is not None else (wanted,):
        refused = denial(BACKGROUND, "get", object_key(obj), parts.store)
        if refused is not None:
            return object_key(obj), refused
    return None


def _source_of(wanted: Json, parts: Parts) -> Json | None:
    marks = labels(wanted)
    uid, kind = (marks.get(f"{LABEL}source-{part}", "") for part in ("uid", "kind"))
    return parts.store.by_uid(wanted["apiVersion"], kind, uid) if uid else None


def _mark_source(wanted: Json, owner: Owner, parts: Parts) -> None:
    """Label the object that was copied, so that its changes are noticed."""
    source = _source_of(wanted, parts)
    if source is None or _SOURCE in labels(source):
        return
    marked = with_metadata(source, {"labels": {**labels(source), _SOURCE: ""}})
    owner.client("label source", parts).update(marked)


def delete_all(references: Iterable[Json], rules: tuple[str, ...], parts: Parts) -> list[Obstacle]:
    """Delete objects that references name, and return why some are still there."""
    problems = []
    client = parts.client(BACKGROUND, Purpose("delete downstream", rules))
    for one in references:
        fields = ("apiVersion", "kind", "namespace", "name")
        key = ObjectKey(*(text_field(one, field) for field in fields))
        error = client.delete(key).error
        if error is not None and error.reason != "NotFound":
            problems.append(obstacle_of(error, key))
    return problems


def downstreams_of(policy: Policy, rule: Rule, trigger: Json, parts: Parts) -> Iterator[Json]:
    """Give what a policy generated for a trigger, of the kinds that a rule generates.

    The name of the rule is not asked for, as upstream does not.
    """
    group, version = split_api_version(text_field(trigger, "apiVersion"))
    wanted = {
        **policy_labels(policy),
        f"{LABEL}trigger-namespace": text_field(trigger, "namespace"),
        f"{LABEL}trigger-kind": text_field(trigger, "kind"),
        f"{LABEL}trigger-group": group,
        f"{LABEL}trigger-version": version,
    }
    by_uid = {**wanted, f"{LABEL}trigger-uid": text_field(trigger, "uid")}
    by_name = {**wanted, f"{LABEL}trigger-name": text_field(trigger, "name")}
    for api_version, kind in kinds_of(rule):
        found = selected(parts.store, api_version, kind, by_uid)
        yield from found or selected(parts.store, api_version, kind, by_name)


def kinds_of(rule: Rule) -> Iterator[tuple[str, str]]:
    """Give apiVersion and kind of what a rule generates, pattern by pattern."""
    generation = rule.facts.generation
    for pattern in generation.patterns if generation else ():
        yield from _kinds_of_pattern(pattern)


def _kinds_of_pattern(pattern: GeneratePattern) -> Iterator[tuple[str, str]]:
    if pattern.kind:
        yield pattern.api_version, pattern.kind
        return
    for text in pattern.clone_kinds:
        selector = parse_kind_selector(text)
        group = "" if selector.group == "*" else f"{selector.group}/"
        yield f"{group}{selector.version}", selector.kind
