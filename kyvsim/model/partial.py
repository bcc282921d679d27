"""Partial reports: the results of one piece of a large input, as counts and as rows."""

from typing import NamedTuple, TypeAlias

from kyvsim.kubernetes.objects import KubernetesObject
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.result import RefusalCount, ReportedReason

Key: TypeAlias = tuple[str, int, int]
"""A piece: its file, the first of its bytes, and the first byte that is none of them."""


class Count(NamedTuple):
    """How many results are alike."""

    namespace: str
    """That of the objects; "" for those without one."""
    policy: str
    rule: str
    result: str
    number: int
    title: str = ""
    """What tables call the rule, where its name behind that of its policy does not say it."""
    severity: str = ""
    """That of the policy; "" where it says none."""


class ReportRow(NamedTuple):
    """One result as reports show it, without the object.

    Lines and columns count from 1 in the piece, 0 where they are not known.
    """

    cluster: str
    file: str
    line: int
    column: int
    number: int
    """The object's place in the piece, from 0: rows of one object have the same."""
    apiVersion: str  # noqa: N815 — the name in JSON
    kind: str
    namespace: str
    name: str
    policy: str
    rule: str
    type: str
    """The phase, as reports name it."""
    place: tuple[str, int, int]
    result: str
    """The status; `none` where a rule has no result, because it could look at nothing."""
    message: str
    note: str = ""
    path: str = ""
    severity: str = ""
    category: str = ""
    title: str = ""
    """What the object is called where its name and namespace do not say it."""
    unchecked: tuple[str, ...] = ()
    """What of the object the rule could not look at."""
    at: tuple[int, int] = (0, 0)
    """Line and column of what failed in the object, where they were looked for."""
    kind_of_policy: str = ""
    own: str = ""
    """What of the message the policy says itself."""
    reasons: tuple[ReportedReason, ...] = ()
    """Why it failed: of rows of a piece that are alike, the first one has them."""


class Head(NamedTuple):
    """What is known of a piece besides its rows."""

    file: str
    first: int
    last: int
    stamp: str
    """Tells this content of the file from any other."""
    assignment: str
    """Tells these policies and options from any others."""
    cluster: str
    lines: int
    """Line ends in the piece."""
    resources: int = 0
    unmatched: int = 0
    unchecked: int = 0
    """How often a rule could not look at all of an object."""
    counts: tuple[Count, ...] = ()
    objects: tuple[KubernetesObject, ...] = ()
    """What kinds of objects there are, each once, and what they define."""
    remarks: tuple[Diagnostic, ...] = ()
    """On documents; those on objects come after those of all pieces."""
    problems: tuple[Diagnostic, ...] = ()
    asked: bool = False
    """Whether rules looked at other objects of the cluster."""
    ended: bool = False
    """Whether nothing of the file is read behind this piece."""
    refused: bool = False
    """Whether the file is no text, so that nothing in it counts."""
    failed: bool = False
    """Whether the piece could not be read or evaluated: it is tried again when a run is resumed."""
    refusals: tuple[RefusalCount, ...] = ()
    """Why an API server refuses some of the objects (KV233)."""

    @property
    def key(self) -> Key:
        """What piece it is."""
        return self.file, self.first, self.last


class Partial(NamedTuple):
    """The report on one piece."""

    head: Head
    rows: bytes = b""
    """Its rows, as lines of JSON."""
