"""The interfaces of evaluation to its environment: cluster, clock and entropy, and step budgets."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import NamedTuple, Protocol

from kyvsim.kubernetes.objects import MAX_DEPTH, Json, JsonMap, KubernetesObject, held_by, labels
from kyvsim.kubernetes.quantities import with_floats
from kyvsim.model.release import NEWEST, Release
from kyvsim.model.request import UserInfo
from kyvsim.model.values import NO_MOCKS, Mocks

# Limits of evaluation: budgets of steps for a rule, for a resource and for a run.
# A step is an element that is read or created, or eight characters of a text. Operations on few
# elements, or on a short text, are not counted: their number is limited by the policy's size. Data
# that grows is counted before it is created, so that the budget bounds memory as well as time. CEL
# expressions additionally have the cost limit of the API server; their cost is counted when they
# end, so that a chain of variables is bounded, too.

FEW = 16
"""Up to this number, elements are not counted."""
SHORT = 256
"""Up to this number, characters are not counted."""
CHARACTERS = 8
"""The characters of one step."""
STEPS_OF_AN_OBJECT = 50
"""The steps of a generated object: 3 KB and about 50 microseconds."""
CEL_STEPS = 4
"""The CEL cost units that take as long as one of our steps."""


class Budget(NamedTuple):
    """Maximum steps of an evaluation; 0 for no limit."""

    rule: int = 1_000_000
    """For one rule on one resource: about a second, and about 10 MB."""
    resource: int = 4_000_000
    """For all rules on one resource."""
    run: int = 0
    """For a whole run, whose cost grows with its input."""


UNCHANGED = Budget()
SIMULATED = Budget(resource=0)
"""A simulated cluster evaluates the same resources repeatedly; instead, its events are limited."""


def to_follow(budget: Budget) -> Budget:
    """Return the budget for traced evaluation, which costs ten times as much.

    A rule that used more is not explained.
    """
    return budget._replace(rule=-(-budget.rule // 10))


class BudgetError(Exception):
    """Evaluation would exceed its budget; expressions cannot catch this."""

    def __init__(self, cause: str, remedy: str = "") -> None:
        super().__init__(f"{cause} ({remedy})" if remedy else cause)
        self.cause = cause
        """The message without the option that sets another limit."""


class Meter:
    """Counts steps against a budget, for the rule that is being evaluated."""

    __slots__ = ("_resource", "_run", "budget", "given", "left", "open", "settable")

    def __init__(self, budget: Budget = UNCHANGED, *, settable: bool = False) -> None:
        self.budget = budget
        self.settable = settable
        """Whether the command has an option for the budget, which errors then mention."""
        self._resource = budget.resource
        self._run = budget.run
        self.given = 0
        self.left = 0
        self.open: list[Callable[[], None]] = []
        """Functions that count the steps of running expressions so far, the innermost one last."""
        self.begin_rule()

    def spend(self, steps: int) -> None:
        """Count steps before they are taken; raises BudgetError if the budget is exceeded."""
        self.left -= steps
        if self.left < 0:
            budget = self.budget
            name, limit = "rule", budget.rule
            if budget.resource and self.given == self._resource and self.given != budget.rule:
                name, limit = "resource", budget.resource
            elif budget.run and self.given == self._run and self.given != budget.rule:
                name, limit = "run", budget.run
            cause = f"the budget of {limit:,} steps for a {name} is spent"
            raise BudgetError(cause, f"--budget {name}=N changes it" if self.settable else "")

    def spend_text(self, length: int) -> None:
        """Count a text before it is created or read; raises BudgetError."""
        self.spend(length // CHARACTERS)

    def weigh(self, data: object) -> int:
        """Count all nodes of `data`, shared parts each time they occur; return the number.

        Raises BudgetError if there are too many, or if they are nested too deeply.
        """
        level, count = [data], 0
        for _ in range(2 * MAX_DEPTH):
            self.spend(len(level))
            count += len(level)
            level = held_by(level)
            if not level:
                return count
        raise BudgetError(f"a value is nested more than {2 * MAX_DEPTH} deep")

    def begin_resource(self) -> None:
        """Begin to count for another resource."""
        if self.left == self.budget.rule == self.given and self._resource == self.budget.resource:
            return  # the previous one took no steps
        self._settle()
        self._resource = self.budget.resource
        self.begin_rule()

    def begin_rule(self) -> None:
        """Begin to count for another rule."""
        self._settle()
        bounds = (self.budget.rule, self._resource, self._run)
        limits = (self.budget.rule, self.budget.resource, self.budget.run)
        known = [left for left, limit in zip(bounds, limits, strict=True) if limit]
        self.given = self.left = min(known, default=1 << 62)

    def _settle(self) -> None:
        used = self.given - self.left
        self._resource -= used
        self._run -= used
        self.given = self.left


# The interfaces of evaluation to its environment: cluster, clock and entropy.


class Clock(Protocol):
    """A source of the current time."""

    def now(self) -> datetime:
        """Return the current time, with a time zone."""

    def __hash__(self) -> int:
        """Return a hash: compiled code is cached by its clock."""


class Entropy(Protocol):
    """A source of randomness."""

    def below(self, bound: int) -> int:
        """Return a random integer from 0 to `bound`, exclusive."""

    def __hash__(self) -> int:
        """Return a hash, like that of a clock."""


class System(NamedTuple):
    """The program that evaluates: its clock, randomness and meter of steps, and its release."""

    clock: Clock
    entropy: Entropy
    meter: Meter
    release: Release = NEWEST


class StoppedClock(NamedTuple):
    """A clock that shows one time."""

    time: datetime

    def now(self) -> datetime:
        """Return the fixed time."""
        return self.time


class _LastChance:
    def below(self, bound: int) -> int:
        """Return the largest integer below `bound`."""
        return bound - 1


def still_system(now: datetime, release: Release = NEWEST) -> System:
    """Return a system with a fixed time and no randomness."""
    return System(StoppedClock(now), _LastChance(), Meter(UNCHANGED), release)


class ClusterView(Protocol):
    """The objects that rules may read."""

    @property
    def has_ints(self) -> bool:
        """Whether integers in its objects are ints, as for clients of an API server."""

    def get(
        self, api_version: str, kind: str, namespace: str, name: str
    ) -> KubernetesObject | None:
        """Return the object, or None; `namespace` is "" for cluster-scoped kinds."""

    def list(self, api_version: str, kind: str, namespace: str) -> Sequence[KubernetesObject]:
        """Return the objects of a kind in a namespace ("" for all), by namespace and name."""

    def kind_of(self, api_version: str, name: str) -> str:
        """Return the kind with the resource name `name` in paths; "" if it cannot exist."""

    def plural_of(self, api_version: str, kind: str) -> str:
        """Return the resource name of a kind in paths; "" if it is not served."""

    def guesses(self, api_version: str, name: str) -> bool:
        """Return whether no kind is known for the resource name `name`, although it may exist."""

    def is_namespaced(self, api_version: str, kind: str) -> bool:
        """Return whether objects of a kind are namespaced, as far as this cluster knows."""

    def kinds(self) -> Iterable[tuple[str, str]]:
        """Return apiVersion and kind of all objects."""

    def namespace_labels(self, namespace: str) -> dict[str, Json]:
        """Return the labels known for a namespace, or an empty dict."""


# Data that context entries and rules may read, besides the request.


class ContextData(NamedTuple):
    """Data of a context file for CEL expressions: objects of a cluster, and image metadata."""

    resources: tuple[KubernetesObject, ...] = ()
    images: JsonMap = MappingProxyType({})


class ExternalData(NamedTuple):
    """The objects that rules may read, and mocks for requests that are impossible offline."""

    cluster: ClusterView
    mocks: Mocks = NO_MOCKS
    answers_calls: bool = True
    """Whether `cluster` answers API calls and lookups of ConfigMaps; if not, calls without a mock
    are undefined.
    """
    context: ClusterView | None = None
    """The objects of a context file, which CEL expressions read before those of `cluster`."""
    images: JsonMap = MappingProxyType({})
    namespaces: Mapping[str, KubernetesObject] = MappingProxyType({})
    targets: Sequence[KubernetesObject] = ()
    """The existing objects that CEL policies may mutate for a trigger."""
    spares_triggers: bool = False
    """Whether rules for existing objects run later and do not change triggers, as in a cluster."""
    sources: Callable[[str], ClusterView] | None = None
    """The objects that generate rules may clone, by policy key; None for those of `cluster`."""
    made: Sequence[KubernetesObject] = ()
    """The objects that earlier rules generated for the request, which later rules may clone."""
    account: UserInfo | None = None
    """The user of lookups, for RBAC of the API server; None for objects without a server."""
    writes: Callable[[str, Json], None] | None = None
    """Writes an object that a CEL policy generates, or raises ValueError; None to only report it.
    """

    def labels_of(self, namespace: str) -> JsonMap:
        """Return the labels of a namespace; those of a values file take precedence."""
        return labels(self.namespaces.get(namespace)) or self.cluster.namespace_labels(namespace)

    def as_json(self, value: object) -> Json:
        """Return data of the cluster for expressions, with floats for all numbers.

        upstream: pkg/engine/context stores JSON text, and parses it without types.
        """
        return with_floats(value) if self.cluster.has_ints else value


# Messages of unexpected exceptions: a failure in one part does not affect the others.
# An unexpected exception in a policy, a rule or an object becomes an error of this part with this
# message, and the run continues. The part never counts as passed.


def fault_text(error: Exception) -> str:
    """Return the message for an exception that is not an evaluation error."""
    if isinstance(error, BudgetError):
        return str(error)
    if isinstance(error, RecursionError):
        return f"it is nested too deeply (more than {MAX_DEPTH} deep is not read)"
    if isinstance(error, MemoryError):
        return "out of memory"
    cause = " ".join(str(error).split())[:200]
    shown = f"{type(error).__name__}: {cause}" if cause else type(error).__name__
    return f"internal error in kyvsim, please report it: {shown}"
