"""What policies in CEL answer to a request, by webhooks of their own."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from kyvsim.engine.compile import CompiledRule, Turn
from kyvsim.engine.policy import RuleInput, run_turn
from kyvsim.engine.world import World
from kyvsim.kubernetes.objects import Json, object_key
from kyvsim.languages.cel.facts import WebhookFacts, mutating_facts
from kyvsim.model.policy import Policy
from kyvsim.model.ports import Outside
from kyvsim.model.request import AdmissionRequest
from kyvsim.model.result import PolicyResponse, RuleStatus, Stage
from kyvsim.model.tracing import PolicyPlace, TraceContext
from kyvsim.simulator.admission.classic import Admission, AdmissionController
from kyvsim.simulator.admission.review import ConditionError, denial, is_asked, tell_conditions
from kyvsim.simulator.api_server import ApiError, Review, Verdict
from kyvsim.simulator.api_server.request import ALLOWED
from kyvsim.simulator.configuration import ADMISSION, BACKGROUND
from kyvsim.simulator.context import Parts
from kyvsim.simulator.policies import PolicyCache, is_cel_policy
from kyvsim.simulator.tracer import Inquirer

# What of policies with expressions in CEL a simulated cluster does not do.
#
# Their kinds are heeded all the same.

_USUAL_MODE = "Kubernetes"


def not_done(obj: Json) -> Iterator[str]:
    """Yield what of a policy as it is stored counts for nothing here."""
    key = object_key(obj)
    if not is_cel_policy(key):
        return
    spec = obj.get("spec") or {}
    evaluation = spec.get("evaluation") or {}
    if (evaluation.get("mode") or _USUAL_MODE) != _USUAL_MODE:
        yield f"its mode {evaluation['mode']}"


# Whether the API server asked the webhook of a policy in CEL, told to whoever inquires.

_UNREGISTERED = "its webhook is not registered for such requests"
_UNMET = "a condition of its webhook does not hold"


class AskedWebhook(NamedTuple):
    """The webhook of a policy, and a request that it may be asked about."""

    policy: Policy
    rules: Iterable[CompiledRule]
    facts: WebhookFacts
    given: RuleInput
    outside: Outside


def tell_unasked(inquirer: Inquirer | None, asked: AskedWebhook) -> None:
    """Tell why rules were not asked about a request: the webhook is for others, or a condition."""
    if inquirer is None:
        return
    subject = object_key(asked.given.request.subject)
    if not asked.facts.takes(asked.given.facts):
        inquirer.pass_by(asked.policy, asked.rules, subject, _UNREGISTERED)
        return
    tell = _conditions(inquirer, asked)
    inquirer.pass_by(asked.policy, asked.rules, subject, _UNMET, tell=tell)


def tell_taken_up(inquirer: Inquirer | None, asked: AskedWebhook) -> None:
    """Tell that the webhook of a policy was asked, which leaves the rest to a controller."""
    if inquirer is not None:
        subject = object_key(asked.given.request.subject)
        inquirer.take_up(asked.policy, asked.rules, subject, _conditions(inquirer, asked))


def _conditions(inquirer: Inquirer, asked: AskedWebhook) -> Callable[[], None]:
    policy, _, facts, given, outside = asked
    place = PolicyPlace(policy.document, policy.key, "", ("spec",), ("matchConditions",))
    trace = TraceContext(place, follower=inquirer)
    texts = [text for _, text in facts.conditions]
    return lambda: tell_conditions(texts, given.request, outside, trace)


# What policies in CEL say of a request, by webhooks of their own.
#
# Source of the rules: upstream pkg/webhooks/resource/vpol/handler.go, pkg/controllers/webhook.


class Hook(NamedTuple):
    """The webhooks of one kind of policies."""

    name: str
    """How their names begin."""
    path: str
    """How their paths begin."""
    mutates: bool = False


WEBHOOKS: Mapping[str, Hook] = MappingProxyType(
    {
        "ValidatingPolicy": Hook("vpol.validate.kyverno.svc", "/vpol"),
        "NamespacedValidatingPolicy": Hook("nvpol.validate.kyverno.svc", "/nvpol"),
        "ImageValidatingPolicy": Hook("ivpol.validate.kyverno.svc", "/ivpol/validate"),
        "NamespacedImageValidatingPolicy": Hook("ivpol.validate.kyverno.svc", "/nivpol/validate"),
        "GeneratingPolicy": Hook("gpol.validate.kyverno.svc", "/gpol"),
        "NamespacedGeneratingPolicy": Hook("ngpol.validate.kyverno.svc", "/ngpol"),
        "MutatingPolicy": Hook("mpol.validate.kyverno.svc", "/mpol", mutates=True),
        "NamespacedMutatingPolicy": Hook("nmpol.validate.kyverno.svc", "/nmpol", mutates=True),
    }
)
_SAID = MappingProxyType({RuleStatus.FAIL: "failed", RuleStatus.ERROR: "error"})


class _Mutated(NamedTuple):
    """What policies made of a request."""

    request: AdmissionRequest
    told: list[PolicyResponse]
    problems: dict[str, list[str]]
    """Why it is denied, by webhook."""


class CelAdmission:
    """The webhooks of policies that validate or mutate, cluster-wide or in their namespace."""

    def __init__(self, parts: Parts, cache: PolicyCache, admission: AdmissionController) -> None:
        self._cache = cache
        self._admission = admission
        self._world = World(parts.store, account=ADMISSION)

    def mutate(self, review: Review) -> Verdict:
        """Return the object as the policies leave it, or the denial where one cannot be done."""
        request = self._admission.seen(review)
        if request is None:
            return ALLOWED
        try:
            done = self._mutated(request)
        except ConditionError as error:
            return self._admission.unasked(request, error)
        if not review.request.dry_run:
            for emit in self._admission.mutated:
                emit(review, request)
        if not done.told:
            return ALLOWED
        blocked = bool(done.problems)
        self._admission.tell(
            Admission(review, done.request, tuple(done.told), mutating=True, blocked=blocked)
        )
        for name, errors in done.problems.items():
            return Verdict(denied=denial(name, _unmutated(request, errors)))
        changed = done.request.object is not request.object
        return Verdict(done.request.object if changed else None)

    def _mutated(self, request: AdmissionRequest) -> "_Mutated":
        """Return a request as the policies leave it; raise `ConditionError`."""
        told: list[PolicyResponse] = []
        problems: dict[str, list[str]] = {}
        for turn in self._turns(Stage.CEL_MUTATE, request):
            policy = turn.policy.policy
            if not _changes_triggers(policy, request):
                continue
            response = self._response(turn, Stage.CEL_MUTATE, request)
            if response is None or not response.results:
                continue
            told.append(response)
            errors = [
                f"Policy {response.policy.name}: {one.message}"
                for one in response.results
                if one.status is RuleStatus.ERROR
            ]
            if errors and policy.facts.fails_closed:
                name = webhook_of(policy, self._cache.webhook_facts(policy))
                problems.setdefault(name, []).extend(errors)
            elif not errors:
                request = request._replace(object=response.object)
        return _Mutated(request, told, problems)

    def validate(self, review: Review) -> Verdict:
        """Return whether the policies let a request pass, and what they warn of."""
        request = self._admission.seen(review)
        if request is None:
            return ALLOWED
        try:
            asked = tuple(self._responses(request))
        except ConditionError as error:
            return self._admission.unasked(request, error)
        if not asked:
            return ALLOWED
        responses = tuple(one for one in asked if one.results)
        problems: dict[str, list[str]] = {}
        for response in responses:
            if denies(response.policy):
                facts = self._cache.webhook_facts(response.policy)
                name = webhook_of(response.policy, facts)
                problems.setdefault(name, []).extend(said_to_clients(response))
        denials = {webhook: told for webhook, told in problems.items() if told}
        self._admission.tell(
            Admission(
                review,
                request,
                responses,
                mutating=False,
                blocked=bool(denials),
                # A policy that may deny keeps its webhook from reporting, whatever it says.
                unreported=any(denies(one.policy) for one in asked),
            )
        )
        warnings = [
            text
            for one in responses
            if one.policy.facts.emits_warnings
            for text in said_to_clients(one)
        ]
        for webhook, told in denials.items():
            return Verdict(warnings=tuple(warnings), denied=denial(webhook, "; ".join(told)))
        return Verdict(warnings=tuple(warnings))

    def _responses(self, request: AdmissionRequest) -> Iterator[PolicyResponse]:
        for turn in self._turns(Stage.CEL_VALIDATE, request):
            response = self._response(turn, Stage.CEL_VALIDATE, request)
            if response is not None:
                yield response

    def _turns(self, stage: Stage, request: AdmissionRequest) -> Iterator[Turn]:
        kind = request.parent_kind[2] if request.parent_kind else request.subject["kind"]
        for turn in self._cache.index.turns(stage, kind):
            policy = turn.policy.policy
            unasked = self._admission.unasked_policy(policy)
            if not unasked:
                yield turn
            else:
                self._admission.pass_by(policy, turn.rules, request, unasked)

    def _response(
        self, turn: Turn, stage: Stage, request: AdmissionRequest
    ) -> PolicyResponse | None:
        """Return what a policy says, None where nobody asks it; raise `ConditionError`."""
        policy = turn.policy.policy
        given = self._admission.opened(request)
        if given is None:
            return None
        if not is_asked_about(policy, given, self._cache, self._world.outside):
            facts, outside = self._cache.webhook_facts(policy), self._world.outside
            asked = AskedWebhook(policy, turn.rules, facts, given, outside)
            tell_unasked(self._admission.inquirer, asked)
            return None
        return run_turn(turn, stage.phase, given, self._world)


def is_asked_about(policy: Policy, given: RuleInput, cache: PolicyCache, outside: Outside) -> bool:
    """Return whether the API server asks the webhook of a policy; raise `ConditionError`.

    Its rules come first: of other requests no condition is asked.
    """
    facts = cache.webhook_facts(policy)
    if not facts.takes(given.facts):
        return False
    texts = [text for _, text in facts.conditions]
    return not texts or is_asked(policy, texts, given.request, outside)


def denies(policy: Policy) -> bool:
    """Return whether a failure of a policy denies a request."""
    return policy.facts.action.own == "Enforce"


def webhook_of(policy: Policy, facts: WebhookFacts, base: str = "") -> str:
    """Return the name of the webhook through which a policy is asked.

    `base` begins it where that is not the kind's usual webhook.
    """
    base = base or WEBHOOKS[policy.kind].name
    if facts.alone:
        return own_webhook_name(policy, base)
    return f"{base}-{'fail' if policy.facts.fails_closed else 'ignore'}"


def own_webhook_name(policy: Policy, base: str) -> str:
    """Return the name of a webhook that is for one policy only."""
    closed = "fail" if policy.facts.fails_closed else "ignore"
    place = "-".join(filter(None, (policy.namespace, policy.name)))
    return f"{base}-{closed}-finegrained-{place}"


def _changes_triggers(policy: Policy, request: AdmissionRequest) -> bool:
    """Return whether a policy changes what requests bring, by whoever asks."""
    own = request.user is not None and request.user.username == BACKGROUND.username
    if own and not policy.rules[0].facts.sees_background:
        return False
    return not mutating_facts(policy).keeps_triggers


def _unmutated(request: AdmissionRequest, errors: list[str]) -> str:
    key = object_key(request.subject)
    told = " ".join(errors)
    return f"Resource: {request.namespace}/{key.name}, Kind: {key.kind}, Errors: [{told}]"


def said_to_clients(response: PolicyResponse) -> list[str]:
    """Return what failed, and what could not be evaluated, as clients are told."""
    name = response.policy.name
    return [
        f"Policy {name} {_SAID[one.status]}: {one.message}"
        for one in response.results
        if one.status in _SAID
    ]


# What ImageValidatingPolicies say of a request, by webhooks of their own.
#
# The first one pins images to their digests, the second one validates them. Both deny by
# `validationActions`; only the second one reports.
#
# Source of the rules: upstream pkg/webhooks/resource/ivpol/handler.go.

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
