"""What the operations of one test share: the cluster, the files, and what is to be cleaned up."""

from collections.abc import Callable, Mapping

from kyvsim.chainsaw.ending import HardError, UnsupportedError
from kyvsim.chainsaw.expressions import Ask, Bindings, asker
from kyvsim.chainsaw.out_of_reach import watch_pods, watch_policies, watch_responses
from kyvsim.chainsaw.standing import Found
from kyvsim.chainsaw.templates import fill
from kyvsim.expr import System
from kyvsim.kube.discovery import lies_in_namespace
from kyvsim.kube.gvk import split_api_version
from kyvsim.kube.objects import Json, ObjectKey
from kyvsim.light.named_tuple import NamedTuple
from kyvsim.model.budget import SIMULATED, Meter
from kyvsim.model.chainsaw import ChainsawBinding, ChainsawTest, Timeouts
from kyvsim.sim.cluster import Cluster
from kyvsim.sim.server import Client
from kyvsim.sim.server.client import ADMIN

POLL = 0.05
"""Seconds from an operation's beginning to its first attempt."""
REQUEST = 0.01
"""Seconds that a request takes which nothing waits for before."""
_LONGEST_WAIT = 1.0
_UNSAID = (
    "an object has text in brackets, and as an expression it makes no sense; whether it is one says"
    " the suite's configuration (`.chainsaw.yaml`, `--config FILE`), and there is none"
)
_EXPRESSIONS = "text in brackets is an expression, unless `template: false` says that it is not"


class Files(NamedTuple):
    """How a test reads what it names; paths are as it writes them."""

    objects: Callable[[str], tuple[tuple[Json, ...], str]]
    """Returns the documents of a file, and why there are none."""
    text: Callable[[str], str | None]
    """Returns the text of a file, None where it cannot be read."""
    parsed: Callable[[str], tuple[tuple[Json, ...], str]]
    """Returns the documents of a text, and why there are none."""


class Session:
    """One test on its way."""

    def __init__(self, test: ChainsawTest, cluster: Cluster, files: Files) -> None:
        self.test = test
        self.cluster = cluster
        self.parts = cluster.parts
        self.files = files
        self.client: Client = self.parts.client(ADMIN)
        self.ask: Ask = asker(System(self.parts.clock, self.parts.identities, Meter(SIMULATED)))
        self.kyverno = cluster.kyverno
        self.namespace = test.namespace
        self.finished = 0.0
        """When the last step had ended, and clean-up began."""
        self.created: list[ObjectKey] = []
        """What the step that runs now has created, for its clean-up."""

        self.written: dict[str, str] = {}
        """Files that scripts have written, by name."""
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
        self.parts.scheduler.advance(seconds)

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

        return self.parts.scheduler.run_until(asked, seconds) or done()

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
            wait = min(wait * 1.5, _LONGEST_WAIT)
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
