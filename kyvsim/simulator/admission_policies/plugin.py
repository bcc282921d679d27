"""The API server's part in admission: its own policies, before any webhook is asked.

Source of the rules: k8s.io/apiserver pkg/admission/plugin/policy.
"""

import contextlib
from collections.abc import Callable, Iterator
from types import MappingProxyType

from kyvsim.engine.world import World
from kyvsim.kubernetes.discovery import split_api_version
from kyvsim.kubernetes.go_text import quote
from kyvsim.kubernetes.objects import Json, metadata, object_key, text_field
from kyvsim.languages.diagnostics import binding_selector_problems, policy_selector_problems
from kyvsim.model.simulation import Reason, Unevaluated
from kyvsim.schema.kinds import native_schemas
from kyvsim.simulator.admission_policies.bound import (
    API_VERSION,
    POLICIES,
    Asked,
    Invocation,
    invocations,
)
from kyvsim.simulator.admission_policies.evaluation import (
    INVALID,
    Decision,
    Failure,
    decisions,
    mutated,
    mutating_problems,
    validating_problems,
)
from kyvsim.simulator.kyverno.admission_notes import Note
from kyvsim.simulator.kyverno.reviews import admission_request
from kyvsim.simulator.server import ApiError, ApiRequest, Review, Store, Verdict, errors
from kyvsim.simulator.server.client import ADMIN
from kyvsim.simulator.server.request import ALLOWED, written
from kyvsim.simulator.server.unfit import misfits

_VALIDATING, _MUTATING = POLICIES
_GROUP = split_api_version(API_VERSION)[0]
_OWN = frozenset((*POLICIES, *(f"{kind}Binding" for kind in POLICIES)))
_Place = tuple[str, str, str, str]
_DETAILS = ("compilation failed: ", "must evaluate to ", "program instantiation failed: ")
_CODES = MappingProxyType(
    {"Unauthorized": 401, "Forbidden": 403, "RequestEntityTooLarge": 413, INVALID: 422}
)


class AdmissionPolicies:
    """Admission by the policies that are stored, as the API server does it itself."""

    def __init__(self, store: Store, note: Callable[[ApiRequest, Note], None]) -> None:
        """Note what the policies made of a request for those who tell of it."""
        self._store = store
        self._note = note
        # The account counts for nothing here but that there is an API server to ask.
        self._outside = World(store, account=ADMIN).outside

    def mutate(self, review: Review) -> Verdict:
        """Return the object as the policies leave it, or the refusal where one cannot be done."""
        if not self._is_concerned(review, _MUTATING) or review.object is None:
            return ALLOWED
        return self._mutated(review, None)

    def _mutated(self, review: Review, again: frozenset[_Place] | None) -> Verdict:
        """Return what the policies say; in a second round those that wanted one, named `again`."""
        asked = self._asked(review)
        obj, refused = review.object, ""
        wanting: set[_Place] = set()
        for one in invocations(_MUTATING, asked):
            if again is not None and one.place not in again:
                continue
            try:
                seen = asked._replace(request=asked.request._replace(object=obj))
                after = mutated(one, seen, obj)
                self._note_result(review, skipped=after is None)
            except Failure as failure:
                self._note_error(review, one, str(failure))
                if one.fails_closed and not refused:
                    refused = f"policy {one.named} denied request: {failure}"
                    self._note(review.request, Note(denied_by=(_name(one),)))
                continue
            if after is not None:
                obj = after
                wanting |= {one.place} if one.wants_again else set()
        if refused:
            return Verdict(denied=ApiError(403, INVALID, refused, why=Reason.DENIED))
        changed = obj if obj is not review.object else None
        if again is not None or not wanting:
            return Verdict(changed)
        return Verdict(changed, again=lambda later: self._mutated(later, frozenset(wanting)))

    def validate(self, review: Review) -> Verdict:
        """Return whether the policies let a request pass, and what they warn of."""
        if not self._is_concerned(review, _VALIDATING):
            return ALLOWED
        asked = self._asked(review)
        denied: list[tuple[Invocation, Decision]] = []
        warnings: list[str] = []
        for one in invocations(_VALIDATING, asked):
            actions = one.binding["spec"].get("validationActions") or () if one.binding else ()
            found = decisions(one, asked)
            self._note_result(review, skipped=found is None)
            for decision in found or ():
                if decision.is_fault:
                    self._note_error(review, one, decision.message)
                if decision.ignored:
                    continue
                if decision.always or "Deny" in actions:
                    denied.append((one, decision))
                elif not decision.is_fault:
                    self._note(review.request, Note(failed=(_name(one),)))
                if "Warn" in actions and not decision.always:
                    warnings.append(
                        f"Validation failed for {_VALIDATING} {one.named}: {decision.message}"
                    )
        if not denied:
            return Verdict(warnings=tuple(warnings))
        self._note(review.request, Note(denied_by=tuple(_name(one) for one, _ in denied)))
        return Verdict(warnings=tuple(warnings), denied=self._denial(review, *denied[0]))

    def _note_result(self, review: Review, *, skipped: bool) -> None:
        self._note(review.request, Note(results=int(not skipped), skipped=int(skipped)))

    def _note_error(self, review: Review, one: Invocation, why: str) -> None:
        self._note(review.request, Note(unevaluated=(Unevaluated(_name(one), why),)))

    def _denial(self, review: Review, policy: Invocation, decision: Decision) -> ApiError:
        meta = metadata(review.object or review.old or {})
        name = text_field(meta, "name") or text_field(meta, "generateName")
        key = review.request.key._replace(name=review.request.key.name or name)
        why = f"{_VALIDATING} {policy.named} denied request: {decision.message}"
        code = _CODES.get(decision.reason, 422)
        refused = errors.forbidden(key, self._store.defined, why)
        causes = ({"message": why},)
        return refused._replace(code=code, reason=decision.reason, causes=causes, why=Reason.DENIED)

    def _is_concerned(self, review: Review, kind: str) -> bool:
        key = review.request.key
        own = split_api_version(key.api_version)[0] == _GROUP and key.kind in _OWN
        return not own and bool(self._store.list(API_VERSION, kind, ""))

    def _asked(self, review: Review) -> Asked:
        return Asked(admission_request(review, self._store), self._outside, self._store)


def changing_policies(review: Review, store: Store) -> frozenset[str]:
    """Return the names of the policies that change the object of a request as it stands."""
    if not store.list(API_VERSION, _MUTATING, "") or review.object is None:
        return frozenset()
    asked = Asked(admission_request(review, store), World(store, account=ADMIN).outside, store)
    found = set()
    for one in invocations(_MUTATING, asked):
        with contextlib.suppress(Failure):
            after = mutated(one, asked, review.object)
            if after is not None and after != review.object:
                found.add(_name(one))
    return frozenset(found)


def _name(one: Invocation) -> str:
    return object_key(one.policy).name


def refuse_uncompiled(review: Review, store: Store) -> ApiError | None:
    """Return why a policy or binding cannot be stored, None where it can."""
    obj = written(review)
    if obj is None or split_api_version(review.request.key.api_version)[0] != _GROUP:
        return None
    key = object_key(obj)
    schema = native_schemas().get(f"{key.api_version}/{key.kind}")
    unfitting = misfits(obj, schema) if schema else []
    if unfitting:
        return errors.invalid(key, *unfitting)
    problems = [
        f"{_field(path)}: Invalid value: {quote(text)}: {_detail(fault)}"
        for path, text, fault in _problems(obj, store)
    ]
    problems += [f"{_field(path)}.{fault}" for path, fault in _selector_faults(obj)]
    return errors.invalid(key, *problems) if problems else None


def _problems(obj: Json, store: Store) -> Iterator[tuple[tuple[str | int, ...], str, str]]:
    if obj["kind"] == _VALIDATING:
        yield from validating_problems(obj)
    elif obj["kind"] == _MUTATING:
        for one in mutating_problems(obj, store.defined):
            yield one.path, _at(obj, one.path), one.message


def _detail(fault: str) -> str:
    """Return what an API server says of an expression that it does not take."""
    return fault if fault.startswith(_DETAILS) else f"compilation failed: {fault}"


def _selector_faults(obj: Json) -> Iterator[tuple[tuple[str | int, ...], str]]:
    if obj["kind"] in _OWN:
        spec = obj.get("spec") or {}
        yield from (
            policy_selector_problems if obj["kind"] in POLICIES else binding_selector_problems
        )(spec)


def _at(obj: Json, path: tuple[str | int, ...]) -> str:
    found = obj
    for step in path:
        found = found[step]
    return str(found)


def _field(path: tuple[str | int, ...]) -> str:
    shown = "".join(f"[{one}]" if isinstance(one, int) else f".{one}" for one in path)
    return shown.removeprefix(".")
