"""How evaluation sees the world outside: cluster, clock and entropy, and its budget of steps."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import NamedTuple, Protocol

from kyvsim.kubernetes.objects import MAX_DEPTH, Json, JsonMap, KubernetesObject, held_by, labels
from kyvsim.kubernetes.quantities import with_floats
from kyvsim.model.request import UserInfo
from kyvsim.model.values import NO_MOCKS, Mocks

# How much evaluation may do: a budget of steps for a rule, for a resource and for a run.
#
# A step is an element that is looked at or made, or eight characters of a text. What an
# expression does to few elements, or to a short text, is not counted: there are as many of those
# as a policy writes. What grows is counted before it is made, so that the budget bounds memory as
# well as time. An expression in CEL has besides the cost limit of the API server; what it took is
# counted when it has ended, so that a chain of variables is bounded, too.


FEW = 16
"""Elements that are not worth counting."""
SHORT = 256
"""Characters that are not worth counting."""
CHARACTERS = 8
"""A step."""
STEPS_OF_AN_OBJECT = 50
"""What a generated object takes: 3 KB and some fifty microseconds."""
CEL_STEPS = 4
"""The steps of the language that take as long as one of ours."""


class Budget(NamedTuple):
    """The steps that evaluation may take; 0 for as many as it likes."""

    rule: int = 1_000_000
    """For one rule on one resource: about a second, and some ten megabytes."""
    resource: int = 4_000_000
    """For all rules on one resource."""
    run: int = 0
    """For all of a run, which grows with what is given; each process of a run counts its own."""


UNCHANGED = Budget()
SIMULATED = Budget(resource=0)
"""A simulated cluster is asked about the same resources again and again; its events are counted."""


def to_follow(budget: Budget) -> Budget:
    """Return what a rule may take where each of its steps is told, which costs ten times as much.

    A rule that took more than that is not explained.
    """
    return budget._replace(rule=-(-budget.rule // 10))


class BudgetError(Exception):
    """Evaluation would take more than it may; nothing in an expression absorbs this."""

    def __init__(self, cause: str, remedy: str = "") -> None:
        super().__init__(f"{cause} ({remedy})" if remedy else cause)
        self.cause = cause
        """What happened, without the option that sets another limit."""


class Meter:
    """Counts steps against a budget: what is at hand for the rule that is evaluated."""

    __slots__ = ("_resource", "_run", "budget", "given", "left", "open", "settable")

    def __init__(self, budget: Budget = UNCHANGED, *, settable: bool = False) -> None:
        self.budget = budget
        self.settable = settable
        """Whether the command has an option for the budget, which errors then name."""
        self._resource = budget.resource
        self._run = budget.run
        self.given = 0
        self.left = 0
        self.open: list[Callable[[], None]] = []
        """What counts the steps so far of expressions on their way, the innermost one last."""
        self.begin_rule()

    def spend(self, steps: int) -> None:
        """Count steps that are about to be taken; raises BudgetError where they are too many."""
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
        """Count a text that is about to be made or read; raises BudgetError."""
        self.spend(length // CHARACTERS)

    def weigh(self, data: object) -> int:
        """Count all nodes of `data`, shared parts as often as they are met; return how many.

        Raises BudgetError where they are too many, or nested too deeply.
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
        """Count for another resource from here on."""
        if self.left == self.budget.rule == self.given and self._resource == self.budget.resource:
            return  # nothing was spent on the one before
        self._settle()
        self._resource = self.budget.resource
        self.begin_rule()

    def begin_rule(self) -> None:
        """Count for another rule from here on."""
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


# The three ways in which evaluation sees the world outside: cluster, clock and entropy.


class Clock(Protocol):
    """Tells the time."""

    def now(self) -> datetime:
        """Return the current time, aware of its zone."""

    def __hash__(self) -> int:
        """Return a hash: what is compiled for a clock is kept for it."""


class Entropy(Protocol):
    """Source of chance."""

    def below(self, bound: int) -> int:
        """Return a whole number from 0 up to and without `bound`."""

    def __hash__(self) -> int:
        """Return a hash, as that of a clock."""


class System(NamedTuple):
    """Where `time_now()` and `random()` get their answers from, and what counts their steps."""

    clock: Clock
    entropy: Entropy
    meter: Meter


class ClusterView(Protocol):
    """The objects that rules may read."""

    @property
    def has_ints(self) -> bool:
        """Whether whole numbers of its objects are ints, as clients of an API server have them."""

    def get(
        self, api_version: str, kind: str, namespace: str, name: str
    ) -> KubernetesObject | None:
        """Return the object, or None; `namespace` is "" for cluster-scoped kinds."""

    def list(self, api_version: str, kind: str, namespace: str) -> Sequence[KubernetesObject]:
        """Return the objects of a kind in a namespace ("" for all), by namespace and name."""

    def kind_of(self, api_version: str, name: str) -> str:
        """Return the kind that paths call `name`, "" where there can be none."""

    def plural_of(self, api_version: str, kind: str) -> str:
        """Return the name by which paths call a kind, "" where it is not served."""

    def guesses(self, api_version: str, name: str) -> bool:
        """Return whether nothing defines a kind that paths call `name`, though it may exist."""

    def is_namespaced(self, api_version: str, kind: str) -> bool:
        """Return whether objects of a kind live in namespaces, as far as this cluster can say."""

    def kinds(self) -> Iterable[tuple[str, str]]:
        """Return apiVersion and kind of everything that there is."""

    def namespace_labels(self, namespace: str) -> dict[str, Json]:
        """Return the labels known for a namespace, or an empty dict."""


# What context entries and rules can ask besides the request.


class ContextData(NamedTuple):
    """What a context file gives CEL expressions: objects of a cluster, and data of images."""

    resources: tuple[KubernetesObject, ...] = ()
    images: JsonMap = MappingProxyType({})


class ExternalData(NamedTuple):
    """The objects that rules may read, and the answers given for what nobody can ask offline."""

    cluster: ClusterView
    mocks: Mocks = NO_MOCKS
    answers_calls: bool = True
    """Whether `cluster` answers API calls and lookups of ConfigMaps; if not, what no mock answers
    stays undefined."""
    context: ClusterView | None = None
    """The objects of a context file, which CEL expressions find before those of `cluster`."""
    images: JsonMap = MappingProxyType({})
    namespaces: Mapping[str, KubernetesObject] = MappingProxyType({})
    targets: Sequence[KubernetesObject] = ()
    """The objects given as existing ones that policies in CEL may change for a trigger."""
    spares_triggers: bool = False
    """Whether rules for existing objects leave triggers as they are and come after them, as in a
    cluster."""
    sources: Callable[[str], ClusterView] | None = None
    """The objects that generate rules of a policy, by its key, may copy; None for those of
    `cluster`."""
    made: Sequence[KubernetesObject] = ()
    """What earlier rules of the policy generated for the request, which later ones may copy."""
    account: UserInfo | None = None
    """Who asks an API server, which grants what roles say; None where objects are just given."""
    writes: Callable[[str, Json], None] | None = None
    """Writes what a policy in CEL generates into a namespace at once, or raises ValueError; None
    where it is only reported."""

    def labels_of(self, namespace: str) -> JsonMap:
        """Return the labels known for a namespace: those that a values file gives come first."""
        given = labels(self.namespaces.get(namespace))
        return given or self.cluster.namespace_labels(namespace)

    def as_json(self, value: object) -> Json:
        """Return what comes from the cluster as expressions see it, with floats for all numbers.

        upstream: pkg/engine/context keeps JSON text, and reads it where no type is asked for.
        """
        return with_floats(value) if self.cluster.has_ints else value


# What is said of a fault that nobody foresaw: one bad thing never costs the rest.
#
# Where something of a user's is worked on (a policy, a rule, an object) a fault becomes that
# thing's error, with these words, and the run goes on. Nothing with a fault counts as passed.


def fault_text(error: Exception) -> str:
    """Return what to say of an exception that is no error of evaluation."""
    if isinstance(error, BudgetError):
        return str(error)
    if isinstance(error, RecursionError):
        return f"it is nested too deeply (more than {MAX_DEPTH} deep is not read)"
    if isinstance(error, MemoryError):
        return "out of memory"
    cause = " ".join(str(error).split())[:200]
    shown = f"{type(error).__name__}: {cause}" if cause else type(error).__name__
    return f"internal error in kyvsim, please report it: {shown}"
