"""What a run tells as a whole: counted while its responses stream by, whatever shows them."""

from collections.abc import Iterable, Iterator, Mapping

from kyvsim.kube.objects import Json
from kyvsim.model.result import EngineResponse, Passes, PolicyResponse, RuleStatus
from kyvsim.report.summary import Summary, only_warns


class Course:
    """Counts of one run; a further count has its place here and its words in `run_ending`."""

    __slots__ = ("_audit_warn", "_counts", "unchecked", "unmatched", "unstable")

    def __init__(self, *, audit_warn: bool = False) -> None:
        self._audit_warn = audit_warn
        self._counts = {"pass": 0, "fail": 0, "warn": 0, "error": 0, "skip": 0}
        self.unchecked = 0
        """How often a rule could not look at all of an object that it would have checked."""
        self.unmatched = 0
        """Resources that no rule matched."""
        self.unstable = 0
        """Policies that change an object again, or fail, when their rules run a second time."""

    def watching(self, responses: Iterable[EngineResponse]) -> Iterator[EngineResponse]:
        """Yield the responses, counting."""
        for response in responses:
            matched = False
            for answer in response.responses:
                if answer.results.__class__ is Passes:
                    matched = True
                    self._counts["pass"] += len(answer.results)
                elif answer.results or answer.silent:
                    matched = True
                    self._count(answer, response.namespace_labels or {})
            self.unmatched += not matched
            self.unstable += len(response.repeated)
            yield response

    def _count(self, answer: PolicyResponse, labels: Mapping[str, Json]) -> None:
        self.unchecked += len(answer.silent)
        for result in answer.results:
            status = result.status
            if status is RuleStatus.FAIL and only_warns(
                answer, labels, audit_warn=self._audit_warn
            ):
                status = RuleStatus.WARN
            self.count(status._value_)
            if result.unchecked:
                self.unchecked += 1

    def count(self, status: str, number: int = 1) -> None:
        """Count results of one status."""
        self._counts[status] += number

    def add(self, other: "Course") -> None:
        """Take in the counts of a part of the run."""
        for status, number in other.summary().as_dict().items():
            self._counts[status] += number
        self.unchecked += other.unchecked
        self.unmatched += other.unmatched
        self.unstable += other.unstable

    def summary(self) -> Summary:
        """Return how many results so far have each status."""
        return Summary(*self._counts.values())
