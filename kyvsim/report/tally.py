"""Results counted by the namespace of their objects, by policy, rule and status."""

from collections.abc import Iterable, Iterator

from kyvsim.kubernetes.objects import object_key
from kyvsim.model.partial import Count
from kyvsim.model.policy import Policy, Rule
from kyvsim.model.result import (
    EngineResponse,
    PassingPolicies,
    PolicyPasses,
    PolicyResponse,
    RuleStatus,
)
from kyvsim.report.result_groups import behind, written_title
from kyvsim.report.results import only_warns, severity_of


class Tally:
    """Counts of a part of a run, while its responses stream by."""

    __slots__ = ("_audit_warn", "_numbers", "_passes", "_titles", "resources")

    def __init__(self, *, audit_warn: bool) -> None:
        self._audit_warn = audit_warn
        self._numbers: dict[tuple[str, str, str, str, str], int] = {}
        self._titles: dict[tuple[str, str], str] = {}
        """What rules are called where policy and name do not say it."""
        # Many objects share the passes of policies: they are counted together.
        self._passes: dict[tuple[str, tuple[PolicyPasses, ...]], int] = {}
        self.resources = 0

    def watching(self, responses: Iterable[EngineResponse]) -> Iterator[EngineResponse]:
        """Yield the responses, counting."""
        for response in responses:
            self.resources += 1
            namespace = object_key(response.trigger).namespace
            for answer in response.answers:
                if isinstance(answer, PassingPolicies):
                    key = namespace, answer.passes
                    self._passes[key] = self._passes.get(key, 0) + 1
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
            self._add(namespace, (answer.policy, result.rule), status, 1)

    def _add(
        self, namespace: str, rule: tuple[Policy, Rule], status: RuleStatus, number: int
    ) -> None:
        name = rule[0].key, rule[1].name
        if name not in self._titles:
            title = written_title(*rule)
            self._titles[name] = "" if title == behind(*name) else title
        key = (namespace, *name, status.value, severity_of(rule[0]))
        self._numbers[key] = self._numbers.get(key, 0) + number

    def counts(self) -> tuple[Count, ...]:
        """Return the counts so far, sorted."""
        for (namespace, passes), number in self._passes.items():
            for one in passes:
                for result in one.results:
                    self._add(namespace, (one.policy, result.rule), result.status, number)
        self._passes.clear()
        return tuple(
            Count(*key[:4], number, self._titles[key[1:3]], key[4])
            for key, number in sorted(self._numbers.items())
        )
