"""What ImageValidatingPolicies say of a request, by webhooks of their own.

The first one pins images to their digests, the second one validates them. Both deny by
`validationActions`; only the second one reports.

Source of the rules: upstream pkg/webhooks/resource/ivpol/handler.go.
"""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from kyvsim.compile import Turn
from kyvsim.engine import World, run_turn
from kyvsim.model.request import AdmissionRequest
from kyvsim.model.result import PolicyResponse, Stage
from kyvsim.sim.kyverno.admission import Admission, AdmissionController
from kyvsim.sim.kyverno.asked_webhooks import AskedWebhook, tell_unasked
from kyvsim.sim.kyverno.cel_admission import (
    Hook,
    denies,
    is_asked_about,
    said_to_clients,
    webhook_of,
)
from kyvsim.sim.kyverno.denial import denial
from kyvsim.sim.kyverno.match_conditions import ConditionError
from kyvsim.sim.kyverno.policy_cache import PolicyCache
from kyvsim.sim.kyverno.users import ADMISSION
from kyvsim.sim.parts import Parts
from kyvsim.sim.server import ApiError, Review, Verdict
from kyvsim.sim.server.request import ALLOWED

_STAGE = Stage.CEL_VERIFY_IMAGES
PINNING_WEBHOOKS: Mapping[str, Hook] = MappingProxyType(
    {
        f"{prefix}ImageValidatingPolicy": Hook("ivpol.mutate.kyverno.svc", path, mutates=True)
        for prefix, path in (("", "/ivpol/mutate"), ("Namespaced", "/nivpol/mutate"))
    }
)
"""The webhooks that change objects, by the kind of policies."""


class ImageAdmission:
    """The webhooks of policies on images, cluster-wide or in their namespace."""

    def __init__(self, parts: Parts, cache: PolicyCache, admission: AdmissionController) -> None:
        self._cache = cache
        self._admission = admission
        self._world = World(parts.store, account=ADMISSION)

    def mutate(self, review: Review) -> Verdict:
        """Return the denial where images cannot be pinned."""
        return self._verdict(review, mutating=True)

    def validate(self, review: Review) -> Verdict:
        """Return whether the policies let a request pass, and what they warn of."""
        return self._verdict(review, mutating=False)

    def _verdict(self, review: Review, *, mutating: bool) -> Verdict:
        request = self._admission.seen(review)
        if request is None:
            return ALLOWED
        try:
            told = tuple(self._responses(request, mutating=mutating))
        except ConditionError as error:
            return self._admission.unasked(request, error)
        if not told:
            return ALLOWED
        denied = self._denial(told, mutating=mutating)
        # A policy that may deny keeps its webhook from reporting, whatever it says.
        silent = mutating or any(denies(one.policy) for one in told)
        self._admission.tell(
            Admission(
                review,
                request,
                told,
                mutating=mutating,
                blocked=denied is not None,
                unreported=silent,
            )
        )
        warning = (one for one in told if one.policy.facts.emits_warnings)
        warnings = tuple(text for one in warning for text in said_to_clients(one))
        return Verdict(warnings=warnings, denied=denied)

    def _responses(self, request: AdmissionRequest, *, mutating: bool) -> Iterator[PolicyResponse]:
        """Yield what policies have to say; raise `ConditionError`."""
        kind = request.parent_kind[2] if request.parent_kind else request.subject["kind"]
        for turn in self._cache.index.turns(_STAGE, kind):
            policy = turn.policy.policy
            if not policy.facts.admission or (mutating and not policy.facts.pins_images):
                continue
            given = self._admission.opened(request)
            if given is None:
                continue
            if not is_asked_about(policy, given, self._cache, self._world.outside):
                facts, outside = self._cache.webhook_facts(policy), self._world.outside
                asked = AskedWebhook(policy, turn.rules, facts, given, outside)
                tell_unasked(self._admission.inquirer, asked)
                continue
            if mutating:
                pinning = self._cache.pinning(policy)
                turn = Turn(pinning, pinning.rules)  # noqa: PLW2901 — the same policy
            response = run_turn(turn, _STAGE.phase, given, self._world)
            if response.results:
                yield response

    def _denial(self, told: Sequence[PolicyResponse], *, mutating: bool) -> ApiError | None:
        """Return the denial of the first webhook that denies."""
        problems: dict[str, list[str]] = {}
        for response in filter(lambda one: denies(one.policy), told):
            policy = response.policy
            base = PINNING_WEBHOOKS[policy.kind].name if mutating else ""
            name = webhook_of(policy, self._cache.webhook_facts(policy), base)
            problems.setdefault(name, []).extend(said_to_clients(response))
        for name, texts in problems.items():
            if texts:
                return denial(name, "; ".join(texts))
        return None
