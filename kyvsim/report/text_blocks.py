"""The parts of the text view that speak: a resource's heading, its verdicts, its references."""

from collections.abc import Callable, Iterable

from kyvsim.model.result import EngineResponse
from kyvsim.model.source import Document, Path
from kyvsim.report.ledger import Need
from kyvsim.report.run import Look
from kyvsim.report.style import Paint, indented, safe_line
from kyvsim.report.subject import title
from kyvsim.report.summary import Row, silent_rows

_QUIET = frozenset({"pass", "skip"})
_INDENT = " " * 9


def resource_block(response: EngineResponse, paint: Paint) -> str:
    """Return the heading of everything said about one resource."""
    name = paint("title", safe_line(title(response.trigger)))
    if response.document is None:
        return f"{name}\n"
    return f"{name} {paint('dim', f'({_place(response.document, ())})')}\n"


def untold(look: Look) -> frozenset[str]:
    """Return the statuses that are counted but not told."""
    return frozenset() if look.detailed else _QUIET


def verdict_block(
    paint: Paint, *, detailed: bool
) -> Callable[[EngineResponse, Iterable[Row]], str]:
    """Return a function that tells rows, each with the place of its rule in the policy.

    With `detailed` failures have the place in the input that failed as well.
    """
    headings: dict[tuple[int, str, Path, str], str] = {}

    def heading(row: Row) -> str:
        # Not the rule's own identity: what is no rule's fault has one made for it, and forgotten.
        rule = row.result.rule
        key = (id(row.policy), rule.name, rule.path, row.status)
        found = headings.get(key)
        if found is None:
            where = paint("dim", f"({_place(row.policy.document, rule.path)})")
            word = paint(row.status, f"{row.status:<5}")
            name = safe_line(" / ".join(filter(None, (row.policy.key, rule.name))))
            found = headings[key] = f"  {word}  {name} {where}\n"
        return found

    def tell(row: Row, response: EngineResponse) -> str:
        said = (row.result.message, row.result.note)
        lines = [f"{_INDENT}{indented(text, _INDENT)}\n" for text in said if text]
        text = "".join([heading(row), *lines])
        if not detailed:
            return text
        from kyvsim.report.places import failed_place  # noqa: PLC0415 — for details only

        place = failed_place(response.document, row.result.path)
        return (
            f"{text}{_INDENT}{paint('place', f'at {safe_line(str(place))}')}\n" if place else text
        )

    def block(response: EngineResponse, rows: Iterable[Row]) -> str:
        told = [tell(row, response) for row in (*rows, *silent_rows(response))]
        return "".join([*told, "\n"]) if told else ""

    return block


def need_line(need: Need, met: str | None, paint: Paint, *, owner: bool = False) -> str:
    """Return the line about one injected reference: what meets it, or a warning."""
    kind, namespace, name = need.reference.target
    places = ", ".join(need.reference.places)
    of = f"{title(need.resource)}: " if owner else ""
    what = safe_line(f"{of}{kind} {namespace}/{name} ({places})")
    if met:
        return f"  {paint('pass', 'needs')}  {what}: {safe_line(met)}\n"
    if need.reference.optional:
        return f"  {paint('dim', 'needs')}  {what}: nothing here creates it, but it is optional\n"
    warning = paint("warn", "warning: nothing here creates it")
    hint = f"\n         {safe_line(need.hint)}" if need.hint else ""
    return f"  {paint('warn', 'needs')}  {what}: {warning}{hint}\n"


def _place(document: Document, path: Path) -> str:
    return safe_line(str(document.locate(path)))
