"""What the operations of one test share: the cluster, the files, and what is to be cleaned up."""

from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

from kyvsim.chainsaw.ending import HardError, UnsupportedError
from kyvsim.chainsaw.expressions import Ask, Bindings, asker, fill
from kyvsim.chainsaw.standing import Found
from kyvsim.chainsaw.unsupported import watch_pods, watch_policies, watch_responses
from kyvsim.chainsaw.usage import Usage
from kyvsim.jmespath import System
from kyvsim.kubernetes.discovery import lies_in_namespace, split_api_version
from kyvsim.kubernetes.objects import Json, ObjectKey
from kyvsim.model.chainsaw import ChainsawBinding, ChainsawTest, Timeouts
from kyvsim.model.ports import SIMULATED, Meter
from kyvsim.simulator.api_server import Client
from kyvsim.simulator.api_server.server import ADMIN
from kyvsim.simulator.cluster import Cluster
from kyvsim.simulator.context import Crowd, Idleness

POLL = 0.05
"""Seconds from an operation's beginning to its first attempt."""
REQUEST = 0.01
"""Seconds that a request takes which nothing waits for before."""
_LONGEST_WAIT = 1.0
_MOST_TRIES = 2_000
"""So often an operation is tried at most, about; with a timeout of hours the waits are longer."""
_LONGEST_TEST = 366 * 86400.0
"""Virtual seconds that a test may take."""
_MOST_EVENTS = 20_000
_EXPRESSIONS_OF_A_TEST = SIMULATED._replace(run=2_000_000)
_UNSAID = (
    "an object has text in brackets, and as an expression it makes no sense; whether it is one says"
    " the suite's configuration (`.chainsaw.yaml`, `--config FILE`), and there is none"
)
_EXPRESSIONS = "text in brackets is an expression, unless `template: false` says that it is not"


Objects = tuple[tuple[Json, ...], str]
"""The objects of a file, and why there are none."""


class Files(Protocol):
    """How a test reads what it names; paths are as it writes them.

    Every method raises UnreachableError for a path that the test must not use.
    """

    def of_operation(self, name: str) -> Objects:
        """Return the objects of the `file` of an operation."""

    def of_script(self, name: str) -> Objects:
        """Return the objects of a file or folder that kubectl reads."""

    def text(self, name: str) -> str | None:
        """Return the text of a file that a script names, None where there is none."""

    def parsed(self, text: str) -> Objects:
        """Return the objects of a text."""

    def key(self, name: str) -> str:
        """Return what a path of a script leads to, as one text for all of its spellings."""

    def is_there(self, name: str) -> bool:
        """Return whether a script would find a file or a folder."""

    def is_folder(self, name: str) -> bool:
        """Return whether a path of a script is that of a folder."""

    def matching(self, pattern: str) -> tuple[str, ...]:
        """Return the names that a pattern of a script matches."""


class Session:
    """One test on its way."""

    def __init__(self, test: ChainsawTest, cluster: Cluster, files: Files) -> None:
        self.test = test
        self.cluster = cluster
        self.parts = cluster.parts
        self.files = files
        self.client: Client = self.parts.client(ADMIN)
        self.ask: Ask = asker(
            System(self.parts.clock, self.parts.identities, Meter(_EXPRESSIONS_OF_A_TEST))
        )
        self.kyverno = cluster.kyverno
        self.namespace = test.namespace
        self.finished = 0.0
        """When the last step had ended, and clean-up began."""
        self.created: list[ObjectKey] = []
        """What the step that runs now has created, for its clean-up."""

        self.written: dict[str, list[str]] = {}
        """Files that scripts have written, in pieces, by their resolved paths."""
        self.usage = Usage()
        """What scripts have used of what they may."""
        self.exhausted = ""
        """Why the cluster is not simulated any further, "" while it is."""
        self._crowd = Crowd(self.parts.timeline)
        self._idleness = Idleness(self.parts.timeline, self.parts.scheduler)
        self.unanswered: list[str] = []
        """What the test came upon that no simulation can answer."""
        self.standing: list[Found] = []
        """What the assertions found after which nothing else was done."""
        hear = watch_responses(self.unanswered)
        listeners = cluster.kyverno.admission.listeners
        listeners.append(lambda told: hear((*told.responses, *told.dropped)))
        cluster.kyverno.reports.listeners.append(hear)
        self.parts.server.observers += [
            watch_policies(self.unanswered),
            watch_pods(self.parts.store, self.unanswered),
        ]

    def suffix(self) -> str:
        """Return five characters that no name has ended with yet."""
        return self.parts.identities.generated_name("")

    def is_namespaced(self, api_version: str, kind: str) -> bool:
        """Return whether objects of a kind live in namespaces."""
        group = split_api_version(api_version)[0]
        return lies_in_namespace(group, kind, self.parts.store.defined)

    def wait(self, seconds: float) -> None:
        """Let virtual time pass."""
        self.advance_until(lambda: False, seconds)

    def advance_until(self, done: Callable[[], bool], seconds: float) -> bool:
        """Let time pass until something holds; return whether it does.

        Raises UnsupportedError where more would happen meanwhile than is simulated.
        """
        reached = False

        def stops() -> bool:
            nonlocal reached
            reached = done()
            return reached or self._is_exhausted()

        if seconds > _LONGEST_TEST - self.parts.clock.elapsed:
            raise UnsupportedError(f"more than {_LONGEST_TEST / 86400:g} days of virtual time")
        self.parts.scheduler.run_until(stops, seconds)
        if not reached:
            self.require_bounded()
        return reached or done()

    def require_bounded(self) -> None:
        """Raise UnsupportedError where more has happened than is simulated."""
        if self._is_exhausted():
            raise UnsupportedError(self.exhausted)

    def _is_exhausted(self) -> bool:
        if len(self.parts.timeline.events) > _MOST_EVENTS:
            self.exhausted = f"more than {_MOST_EVENTS:,} events in the cluster"
        elif self._crowd.is_wanted():
            self.exhausted = self._crowd.wanted
        elif self._idleness.lasts():
            self.exhausted = "a wait in which nothing happens any more"
        return bool(self.exhausted)

    def wait_until(self, done: Callable[[], bool], seconds: float) -> bool:
        """Wait until something holds, at most for some seconds; return whether it does.

        It is asked again when something was written, and at the end.
        """
        store = self.parts.store
        seen = -1

        def asked() -> bool:
            nonlocal seen
            if seen == store.revision:
                return False
            seen = store.revision
            return done()

        return self.advance_until(asked, seconds) or done()

    def retry(self, attempt: Callable[[], bool], seconds: float) -> bool:
        """Try until it works, at most for some seconds; return whether it did.

        The first try comes after `POLL`, the last one at the end; the waits between tries grow,
        for a failing try has no other outcome for being made more often.
        """
        end = self.parts.clock.elapsed + seconds
        wait = POLL
        while (left := end - self.parts.clock.elapsed) > 0:
            self.wait(min(wait, left))
            if attempt():
                return True
            wait = min(wait * 1.5, max(_LONGEST_WAIT, seconds / _MOST_TRIES))
        return False


class Situation(NamedTuple):
    """What holds where an operation stands."""

    session: Session
    bindings: Bindings
    timeouts: Timeouts
    template: bool | None
    propagation: str = "Background"
    """What becomes of the dependents of what is deleted."""

    def bind(self, name: str, value: Json) -> "Situation":
        """Return the situation with one more binding."""
        return self._replace(bindings={**self.bindings, name: value})

    def bind_all(self, bindings: tuple[ChainsawBinding, ...]) -> "Situation":
        """Return the situation with further bindings; each may use those before it."""
        situation = self
        for one in bindings:
            if one.compiler not in {"", "jp"}:
                raise UnsupportedError(f"expressions of the language `{one.compiler}`")
            situation = situation.bind(str(situation.filled(one.name)), situation.filled(one.value))
        return situation

    def filled(self, value: Json) -> Json:
        """Return a value with its expressions replaced by what they find."""
        return fill(value, self.bindings, self.session.ask)

    def _chosen(self, spec: Mapping[str, Json]) -> bool | None:
        wanted: bool | None = spec.get("template")
        return self.template if wanted is None else wanted

    def require_said(self, spec: Mapping[str, Json]) -> None:
        """Raise UnsupportedError where nobody says whether text in brackets is an expression.

        What such text makes of an object that cannot be used says nothing then.
        """
        if self._chosen(spec) is None:
            raise UnsupportedError(_UNSAID)

    def templated(self, spec: Mapping[str, Json], value: Json) -> Json:
        """Return a value filled in, unless the operation or the test does without."""
        if self._chosen(spec) is False:
            return value
        try:
            return self.filled(value)
        except HardError as error:
            self.require_said(spec)
            raise HardError(f"{error.message} ({_EXPRESSIONS})") from None
