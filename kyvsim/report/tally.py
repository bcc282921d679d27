"""Results counted by the namespace of their objects, by policy, rule and status."""

from collections.abc import Iterable, Iterator

from kyvsim.kube.objects import object_key
from kyvsim.model.partial import Count
from kyvsim.model.result import EngineResponse, Passes, PolicyResponse, RuleStatus
from kyvsim.report.summary import only_warns


class Tally:
    """Counts of a part of a run, while its responses stream by."""

    __slots__ = ("_audit_warn", "_numbers", "_passes", "resources")

    def __init__(self, *, audit_warn: bool) -> None:
        self._audit_warn = audit_warn
        self._numbers: dict[tuple[str, str, str, str], int] = {}
        # Many objects share results that are all passes: they are counted together. Who is kept
        # here keeps its identity.
        self._passes: dict[tuple[str, int], tuple[PolicyResponse, int]] = {}
        self.resources = 0

    def watching(self, responses: Iterable[EngineResponse]) -> Iterator[EngineResponse]:
        """Yield the responses, counting."""
        for response in responses:
            self.resources += 1
            namespace = object_key(response.trigger).namespace
            for answer in response.responses:
                if answer.results.__class__ is Passes:
                    key = namespace, id(answer.results)
                    kept, number = self._passes.get(key, (answer, 0))
                    self._passes[key] = kept, number + 1
                elif answer.results:
                    self._count(namespace, answer, response)
            yield response

    def _count(self, namespace: str, answer: PolicyResponse, response: EngineResponse) -> None:
        labels = response.namespace_labels or {}
        for result in answer.results:
            status = result.status
            if status is RuleStatus.FAIL and only_warns(
                answer, labels, audit_warn=self._audit_warn
            ):
                status = RuleStatus.WARN
            self._add((namespace, answer.policy.key, result.rule.name, status.value), 1)

    def _add(self, key: tuple[str, str, str, str], number: int) -> None:
        self._numbers[key] = self._numbers.get(key, 0) + number

    def counts(self) -> tuple[Count, ...]:
        """Return the counts so far, sorted."""
        for (namespace, _), (answer, number) in self._passes.items():
            for result in answer.results:
                key = namespace, answer.policy.key, result.rule.name, result.status.value
                self._add(key, number)
        self._passes.clear()
        return tuple(Count(*key, number) for key, number in sorted(self._numbers.items()))
