"""What a run tells besides results: counted while its responses stream by."""

from collections.abc import Iterable, Iterator

from kyvsim.model.result import EngineResponse


class Course:
    """Counts of one run; a further count has its place here and its words in `run_ending`."""

    __slots__ = ("unmatched", "unstable")

    def __init__(self) -> None:
        self.unmatched = 0
        """Resources that no rule matched."""
        self.unstable = 0
        """Policies that change an object again, or fail, when their rules run a second time."""

    def watching(self, responses: Iterable[EngineResponse]) -> Iterator[EngineResponse]:
        """Yield the responses, counting."""
        for response in responses:
            if not any(answer.results or answer.silent for answer in response.responses):
                self.unmatched += 1
            self.unstable += len(response.repeated)
            yield response
