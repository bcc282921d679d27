"""What a check is."""

from collections.abc import Callable, Iterable
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

from kyvsim.kubernetes.discovery import NO_KINDS, KindTable
from kyvsim.kubernetes.objects import Json
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.policy import Binding, Policy, Rule
from kyvsim.model.request import PayloadMode
from kyvsim.model.source import Document

if TYPE_CHECKING:
    from kyvsim.model.policy import CelException, PolicyException
    from kyvsim.model.values import Values


class CheckSubject(StrEnum):
    """What a check looks at, which is the one argument of its function."""

    RULES = "rules"
    """A policy with match blocks (ClusterPolicy, Policy, CleanupPolicy): `Policy`."""
    CEL = "cel"
    """A policy of Kyverno's CEL kinds, with its expressions parsed: `CelPolicy`."""
    EXPRESSIONS = "expressions"
    """The same, or one of Kubernetes' admission policies: `CelPolicy`."""
    DOCUMENTS = "documents"
    """All documents of Kyverno's kinds together, in `lint` only: `LintInputs`."""
    FILES = "files"
    """All policies, exceptions and bindings together, in `lint` only: `LintInputs`."""
    INPUTS = "inputs"
    """The same in `lint`, `apply` and `test`, beside the resources of a run: `LintInputs`."""
    RUN = "run"
    """The same in `apply` and `test` only: `LintInputs`."""


class CheckCode(NamedTuple):
    """A code that a check reports; docs/diagnostics.md describes all codes."""

    code: str
    example: str
    """A part of a policy about which it is reported, from the example on the page of the code."""
    severities: tuple[Severity, ...] = (Severity.WARNING,)
    """With which it is reported, without `--strict`."""


class Check(NamedTuple):
    """One check. It reports only what is certain: false warnings hide the true ones."""

    codes: tuple[CheckCode, ...]
    subject: CheckSubject
    run: Callable[[Any], Iterable[Diagnostic]]


def warning_check(
    subject: CheckSubject, run: Callable[[Any], Iterable[Diagnostic]], **examples: str
) -> Check:
    """Return a check that only warns, with an example for each of its codes."""
    return Check(tuple(CheckCode(*one) for one in examples.items()), subject, run)


class LintInputs(NamedTuple):
    """What `lint`, or a run of `apply` or `test`, is given."""

    policies: tuple[Policy, ...]
    resources: tuple[Json, ...]
    """The objects that rules are to look at, or enough of them to have all kinds and names."""
    derive: Callable[[Policy], Iterable[Rule]]
    """Returns the rules of a policy with those that autogen derives from them."""
    others: tuple[Json, ...] = ()
    exceptions: tuple["PolicyException", ...] = ()
    cel_exceptions: tuple["CelException", ...] = ()
    bindings: tuple[Binding, ...] = ()
    values: "Values | None" = None
    sound: bool = True
    """Whether all policies loaded; if not, a reference to a rejected one is not a typo."""
    modes: frozenset[PayloadMode] = frozenset()
    number: int = 0
    documents: tuple[Document, ...] = ()
    """In `lint`: the documents whose kinds Kyverno defines."""
    kinds: KindTable = NO_KINDS
    """In `lint`: the kinds that CustomResourceDefinitions define."""
    now: datetime | None = None

    @property
    def objects(self) -> tuple[Json, ...]:
        """All that shows which kinds exist."""
        mapped = self.values.subresources if self.values else ()
        sent = [{"apiVersion": f"{one.kind.group}/", "kind": one.kind.kind} for one in mapped]
        return (*self.resources, *self.others, *sent)
