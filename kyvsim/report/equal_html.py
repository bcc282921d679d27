"""Evidence as one page for a browser."""

from collections.abc import Iterator

from kyvsim.report.equality import Equality
from kyvsim.report.evidence_page import shown_evidence
from kyvsim.report.page import ending_of, page


def render(found: Equality) -> Iterator[str]:
    """Yield the page in pieces."""
    return page(
        "equal.html",
        style=("evidence.css",),
        ending=ending_of(found.ending),
        remarks=found.diagnostics,
        found=None if found.evidence is None else shown_evidence(found.evidence),
    )
