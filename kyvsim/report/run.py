"""What a report is made from: the figures and responses of one run, and how to show them."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from kyvsim.model.diagnostic import Diagnostic, strictly
from kyvsim.model.policy import Policy, Schedule
from kyvsim.model.result import EngineResponse
from kyvsim.report.course import Course
from kyvsim.report.known_failures import rest_of
from kyvsim.report.results import Row

if TYPE_CHECKING:
    from datetime import datetime

    from kyvsim.model.explanation import ObjectExplanation
    from kyvsim.model.result import Baseline
    from kyvsim.report.known_failures import Rest
    from kyvsim.report.reasons import Reason


class Terms(NamedTuple):
    """What the user says of the exit status."""

    warn_exit_code: int = 0
    warn_no_pass: bool = False
    fail_on: str = ""
    """The least severity of a policy whose failures count; "" where all count."""


class Telling(NamedTuple):
    """A part of the responses as the chosen formats write them, as it is asked for."""

    pieces: Iterator[tuple[int, str]]
    """What stands for them, each piece with the number of its format; reading raises Unparted."""
    lists: Sequence[Mapping[str, list[str]]]
    """For each format what follows on them in lists by name, filled while the pieces are read:
    texts of one line. Who reads may take out what is there."""


class Told(NamedTuple):
    """All responses of a run as the chosen formats write them."""

    pieces: Sequence[Iterable[str]]
    """For each format what stands for them, which can be read once."""
    lists: Sequence[Mapping[str, Iterable[str]]]
    """For each format what follows on them in lists by name; of those that have entries."""


class Unparted(Exception):  # noqa: N818 — no error: it says how to go on
    """Parts of a run, each by itself, would not tell what the whole does; its text says why."""


def _unexplained(_response: EngineResponse, _row: Row) -> "tuple[Reason, ...]":
    return ()


Explain: TypeAlias = "Callable[[EngineResponse, Row], tuple[Reason, ...]]"
"""Returns why a rule came to a result, with places; () where that is not known.

It is to be asked while the response is the last one that was read.
"""


class Run(NamedTuple):
    """One run of policies over resources: what was read, and the responses as they are asked for.

    `responses` can be read once.
    """

    policies: tuple[Policy, ...]
    resource_count: int
    rule_count: int
    """Rules after autogen."""
    exception_count: int
    diagnostics: tuple[Diagnostic, ...]
    responses: Iterator[EngineResponse]
    """One for each resource, in input order."""
    course: Course
    """What is counted while they are read."""
    exceptions: tuple[str, ...] = ()
    """The keys of the exceptions, where all of them are known here."""
    terms: Terms = Terms()
    audit_warn: bool = False
    schedules: tuple[Schedule, ...] = ()
    """Of the policies that act at times."""
    now: "datetime | None" = None
    """The time of the run, where it was given: times in its output mean something later then."""
    checks_idempotence: bool = False
    """Whether the responses say what changes an object again."""
    applied: bool = True
    """False where a file that every verdict depends on was refused, so that there is no verdict."""
    afterthoughts: Callable[[int], tuple[Diagnostic, ...]] = lambda _matched: ()
    """What is to be said when all responses are read, of so many resources that a rule matched."""
    explained: "Callable[[EngineResponse], ObjectExplanation | None]" = lambda _response: None
    """Returns how policies came to what the response says that was read last, if that is known."""
    left_out: tuple[Diagnostic, ...] = ()
    """What was left out of folders, being neither policies nor manifests: where, and what it is."""
    is_part: bool = False
    """Whether it is a part of a run: no response of it may have to do with those of others."""
    explain: Explain = _unexplained
    """Explains a result: the rule is evaluated once more, on that object alone."""
    told: Told | None = None
    """What stands for `responses`, which are none then."""
    baseline: "Baseline | None" = None
    """The failures that are known from a file."""

    def strictly(self) -> "Run":
        """Return the run with every warning about input made an error."""
        later = self.afterthoughts
        return self._replace(
            diagnostics=strictly(self.diagnostics),
            afterthoughts=lambda matched: strictly(later(matched)),
        )

    def rest(self) -> "Rest | None":
        """Return what is left of the baseline, once all responses are read; None without one."""
        met = self.course.met
        if self.baseline is None or met is None:
            return None
        return rest_of(self.baseline, met, self.policies)

    def remarks(self) -> tuple[Diagnostic, ...]:
        """Return everything that is to be said of the inputs, once all responses are read."""
        return (*self.diagnostics, *self.last_remarks())

    def last_remarks(self) -> tuple[Diagnostic, ...]:
        """Return what is to be said only now that all responses are read."""
        if not self.applied:
            return ()
        return self.afterthoughts(self.resource_count - self.course.unmatched)


Tell: TypeAlias = Callable[[Iterable[EngineResponse]], Telling]
"""Writes the responses of a part."""


class Teller(NamedTuple):
    """Writes parts of a run in the formats that are chosen."""

    formats: int
    """How many there are."""
    begin: Callable[[Run], Tell]
    """Begins their documents, for parts of the run that are told in their order: what is told of
    one may leave out what was told of those before it."""
