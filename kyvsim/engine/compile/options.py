"""What compiling depends on besides the policies, and how diagnostics about them are made."""

from enum import StrEnum
from typing import NamedTuple

from kyvsim.jmespath import System
from kyvsim.kubernetes.discovery import NO_KINDS, KindTable
from kyvsim.kubernetes.objects import Json
from kyvsim.model.diagnostic import Diagnostic, Fix, Severity
from kyvsim.model.policy import Binding, CelException, Policy, PolicyException, Rule
from kyvsim.model.probe import NO_PROBE, Follower, Listener, PolicyPlace, Probe
from kyvsim.model.source import Document, Path

# What compiling depends on besides the policies.


class Model(StrEnum):
    """Which reading of `spec.background` generate rules follow."""

    KYVERNO = "kyverno-1.19"
    """The code of Kyverno 1.19: generation does not depend on it."""
    BACKGROUND_GATES_GENERATE = "background-gates-generate"
    """The report of story 000: with `background: false` new objects generate nothing."""


class CompileOptions(NamedTuple):
    """Clock and entropy for expressions, exceptions to attach, the model to follow."""

    system: System
    exceptions: tuple[PolicyException, ...] = ()
    model: Model = Model.KYVERNO
    admitted: bool = False
    """Whether the policies need no checks: a cluster has let them in, or they were checked."""
    simulated: bool = False
    """Whether a simulated cluster runs the policies, and does what commands without one cannot."""
    listener: Listener | None = None
    """Who is told what is reached when the policies run; compiled rules tell nobody by default."""
    cel_exceptions: tuple[CelException, ...] = ()
    """The same for policies in CEL."""
    kinds: KindTable = NO_KINDS
    """What the given definitions of custom resources tell."""
    bindings: tuple[Binding, ...] = ()
    """Those of Kubernetes' admission policies."""
    parameters: tuple[Json, ...] = ()
    """The objects given as parameters of such policies."""
    follower: Follower | None = None
    """Who is told how rules come to their verdicts; nobody by default."""
    only: Rule | None = None
    """The rule that is wanted of a policy, be it written or derived; all are by default."""
    settled: bool = False
    """Whether that rule is known to apply to what it will be asked about: then it is not asked
    what it matches, nor its preconditions."""

    @property
    def is_heard(self) -> bool:
        """Whether anybody is told what happens when the policies run."""
        return self.listener is not None or self.follower is not None

    def probe_of(self, policy: Policy, rule: Rule) -> Probe:
        """Return the probe of a whole rule."""
        if not self.is_heard:
            return NO_PROBE
        place = PolicyPlace(policy.document, policy.key, rule.name, rule.path)
        return Probe(place, self.listener, self.follower)


# How a warning about a place of a document is made.


def warn(
    document: Document, code: str, message: str, path: Path = (), *, fix: Fix | None = None
) -> Diagnostic:
    """Return a warning about the node at `path` of a document, and what would put it right."""
    return Diagnostic(code, Severity.WARNING, message, document.locate(path), fix=fix)


def uncompiled(policy: Policy, error: Exception | str) -> Diagnostic:
    """Return that a policy cannot be compiled, and why.

    KV190: an expression or another text of the policy cannot be read.
    """
    message = f"policy `{policy.key}` can't be compiled: {error}"
    return Diagnostic("KV190", Severity.ERROR, message, policy.document.locate(("spec",)))
