"""Policies as loaded: checked for shape, expressions still text."""

from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeAlias

from kyvsim.kube.objects import Json
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.facts import PolicyFacts, RuleFacts
from kyvsim.model.source import Document, Path

SEVERITIES = ("critical", "high", "medium", "low", "info")
"""What the annotation `policies.kyverno.io/severity` may say; reports leave other texts out."""


class Rule(NamedTuple):
    """One rule of a policy, as written or as autogen derived it."""

    name: str
    data: Mapping[str, Json]
    """What is written, for its language alone; others ask `facts`."""
    path: Path
    """Where the rule, or the one it was derived from, stands in the policy's document."""
    facts: RuleFacts
    variant: str = ""
    """Which variant of a policy for controllers it is; "" for what is written."""
    carried_to: Path = ()
    """The fields under which autogen put the patterns that are written; () for what is written."""

    def is_renamed(self, other: "Rule") -> bool:
        """Return whether another rule is this one, whatever name it was given since."""
        return self.data is other.data

    @property
    def generates(self) -> bool:
        """Whether the background controller creates objects for it."""
        return self.facts.generation is not None

    @property
    def mutates_existing(self) -> bool:
        """Whether the background controller changes objects for it."""
        return bool(self.facts.targets)


class Policy(NamedTuple):
    """A policy of any language; one without rules of its own has its whole `spec` as its rule."""

    kind: str
    name: str
    namespace: str
    annotations: Mapping[str, Json]
    spec: Mapping[str, Json]
    """What is written, for its language alone; others ask `facts`."""
    rules: tuple[Rule, ...]
    document: Document
    facts: PolicyFacts

    @property
    def key(self) -> str:
        """Name as shown: `namespace/name` for a namespaced policy."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    def says(self, other: "Policy") -> bool:
        """Return whether another policy says the same, wherever it stands."""
        return self.spec == other.spec

    @property
    def background(self) -> bool:
        """Whether background processing is on (the default)."""
        return self.facts.background

    @property
    def applies_one_rule(self) -> bool:
        """Whether evaluation stops after the first rule that passed or failed."""
        return self.facts.applies_one_rule

    @property
    def scored(self) -> bool:
        """Whether failures count as failures; warnings where the annotation says "false"."""
        return self.annotations.get("policies.kyverno.io/scored") != "false"


PolicyReader: TypeAlias = Callable[[Json, Document], tuple[Policy, tuple[Diagnostic, ...]]]
"""How data whose shape is right becomes a policy: what a language offers to those who load."""
PolicyReaders: TypeAlias = Mapping[tuple[str, str], PolicyReader]
"""By group and kind; policies are read in all versions that are served."""
