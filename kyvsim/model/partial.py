"""Partial reports: the results of one piece of a large input, as counts and as rows."""

from typing import NamedTuple, TypeAlias

from kyvsim.kubernetes.objects import KubernetesObject
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.result import RefusalCount, ReportedReason

Key: TypeAlias = tuple[str, int, int]
"""A piece: its file, its first byte, and the byte after its last one."""


class Count(NamedTuple):
    """The number of equal results."""

    namespace: str
    """The namespace of the objects; "" if cluster-scoped."""
    policy: str
    rule: str
    result: str
    number: int
    title: str = ""
    """The title of the rule in tables, if it differs from policy and rule name."""
    severity: str = ""
    """The severity of the policy, or ""."""


class ReportRow(NamedTuple):
    """One result in a report, without the object.

    Lines and columns count from 1 in the piece; 0 if unknown.
    """

    cluster: str
    file: str
    line: int
    column: int
    number: int
    """The index of the object in the piece; rows of the same object share it."""
    apiVersion: str  # noqa: N815 — the name in JSON
    kind: str
    namespace: str
    name: str
    policy: str
    rule: str
    type: str
    """The phase, as in reports."""
    place: tuple[str, int, int]
    result: str
    """The status; `none` for a rule without a result, because it could not evaluate anything."""
    message: str
    note: str = ""
    path: str = ""
    severity: str = ""
    category: str = ""
    title: str = ""
    """The title of the object, if it differs from its name and namespace."""
    unchecked: tuple[str, ...] = ()
    """The parts of the object that the rule could not evaluate."""
    at: tuple[int, int] = (0, 0)
    """Line and column of the failed field, if it was searched for."""
    kind_of_policy: str = ""
    own: str = ""
    """The part of the message that the policy defines."""
    reasons: tuple[ReportedReason, ...] = ()
    """The reasons of a failure; of equal rows in a piece, only the first has them."""


class Head(NamedTuple):
    """The data of a piece besides its rows."""

    file: str
    first: int
    last: int
    stamp: str
    """Identifies the content of the file."""
    assignment: str
    """Identifies the policies and options."""
    cluster: str
    lines: int
    """Number of line ends in the piece."""
    resources: int = 0
    unmatched: int = 0
    unchecked: int = 0
    """Number of rules that could not evaluate all of an object."""
    counts: tuple[Count, ...] = ()
    objects: tuple[KubernetesObject, ...] = ()
    """One object for each kind and its definitions."""
    remarks: tuple[Diagnostic, ...] = ()
    """Those of documents; those of objects follow after all pieces."""
    problems: tuple[Diagnostic, ...] = ()
    asked: bool = False
    """Whether rules looked up other objects of the cluster."""
    ended: bool = False
    """Whether the rest of the file after this piece is not read."""
    refused: bool = False
    """Whether the file is not text, so that none of its results count."""
    failed: bool = False
    """Whether the piece could not be read or evaluated; it is retried when a run is resumed."""
    refusals: tuple[RefusalCount, ...] = ()
    """Why an API server rejects some of the objects (KV233)."""

    @property
    def key(self) -> Key:
        """The identity of the piece."""
        return self.file, self.first, self.last


class Partial(NamedTuple):
    """The report on one piece."""

    head: Head
    rows: bytes = b""
    """Its rows as lines of JSON."""
