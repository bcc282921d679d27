"""Which warnings `lint` reports: comments in files, chosen codes and severities.

Codes: KV291 an ignore comment without effect, KV292 one without a reason, KV293 one that is not
understood.

Errors are always reported: the file or the policy cannot be used, whether they are shown or not.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

from kyvsim.api.ignore_comments import IgnoreComment, IgnoreComments
from kyvsim.linting.registry import CHECKS
from kyvsim.linting.runs import CheckSubject
from kyvsim.load.files import Source
from kyvsim.model.diagnostic import Diagnostic, Edit, Fix, Severity, listed
from kyvsim.model.source import Location
from kyvsim.report.diagnostic_codes import codes_by_name


class Selection(NamedTuple):
    """The warnings to report; codes are prefixes, such as `KV3`."""

    select: tuple[str, ...] = ()
    """Only these; () for all."""
    ignore: tuple[str, ...] = ()
    severities: Mapping[str, Severity] = MappingProxyType({})
    """Other severities by code; the longest prefix counts."""
    comments: bool = True
    """Whether comments in files ignore warnings; if not, comments are not checked either."""


EVERYTHING: Final = Selection()


def selected(found: Iterable[Diagnostic], selection: Selection) -> tuple[Diagnostic, ...]:
    """Return the diagnostics of a selection, with their severities. Errors remain as they are."""
    return tuple(
        one if one.severity is Severity.ERROR else _with_severity(one, selection.severities)
        for one in found
        if one.severity is Severity.ERROR
        or (
            one.code.startswith(selection.select or "KV")
            and not one.code.startswith(selection.ignore)
        )
    )


def _with_severity(one: Diagnostic, severities: Mapping[str, Severity]) -> Diagnostic:
    prefix = max(filter(one.code.startswith, severities), key=len, default="")
    return one._replace(severity=severities[prefix]) if prefix else one


def is_unknown(prefix: str) -> bool:
    """Return whether no code begins with a prefix."""
    return not any(code.startswith(prefix) for code in codes_by_name())


def selection_of(
    select: Iterable[str] = (), ignore: Iterable[str] = (), severities: Iterable[str] = ()
) -> Selection:
    """Return the selection of texts such as `KV3,KV204`, or `KV204=error` for severities.

    Raises ValueError for an unknown code or severity.
    """
    levels = {}
    for part in _parts(severities):
        code, _, level = part.partition("=")
        if level not in tuple(Severity):
            form = f"`{code}=LEVEL` with {', '.join(Severity)}"
            raise ValueError(f"`{part}` has no severity: write {form}")
        levels[code] = Severity(level)
    chosen = Selection(_parts(select), _parts(ignore), levels)
    for code in (*chosen.select, *chosen.ignore, *chosen.severities):
        if is_unknown(code):
            raise ValueError(f"no diagnostic has a code that begins with `{code}`")
    return chosen


def _parts(values: Iterable[str]) -> tuple[str, ...]:
    parts = (part.strip() for value in values for part in value.split(","))
    return tuple(filter(None, parts))


_ALONE: Final = frozenset(
    code.code
    for check in CHECKS
    if check.subject in {CheckSubject.RULES, CheckSubject.CEL, CheckSubject.EXPRESSIONS}
    for code in check.codes
)
"""Codes that depend on a single policy, and are reported whichever files are checked."""


def without_ignored(
    found: Iterable[Diagnostic], sources: Iterable[Source], *, is_partial: bool = False
) -> Iterator[Diagnostic]:
    """Yield the diagnostics that no comment in a file ignores, and those about such comments.

    With `is_partial`, not all files of a project are known, so comments on warnings that depend on
    other files may seem to have no effect, and are not reported.
    """
    comments = IgnoreComments(sources)
    used: set[tuple[Location, str]] = set()
    with_errors: set[str] = set()
    for one in found:
        if one.severity is Severity.ERROR:
            with_errors.add(one.location.file if one.location else "")
            yield one
            continue
        meant = comments.about(one)
        used |= {(comment.location, one.code) for comment in meant}
        if not meant:
            yield one
    for comment in comments.all:
        unused = [code for code in comment.codes if (comment.location, code) not in used]
        if comment.location.file in with_errors:
            unused = []  # after an error, other checks do not run
        elif is_partial:
            unused = [code for code in unused if code in _ALONE]
        yield from _problems(comment, unused)


def _problems(comment: IgnoreComment, unused: Sequence[str]) -> Iterator[Diagnostic]:
    """Yield what is wrong with a comment."""

    def problem(code: str, text: str, fix: Fix | None = None) -> Diagnostic:
        return Diagnostic(code, Severity.WARNING, text, comment.location, fix=fix)

    if not comment.codes:
        form = "`# kyvsim: ignore[KV207] reason`, or `ignore-file` for the whole file"
        yield problem("KV293", f"the comment ignores nothing: write {form}")
        return
    unknown = {code for code in comment.codes if code not in codes_by_name()}
    if unknown:
        text = f"no diagnostic has the code {listed(unknown)} (all codes: `kyvsim rule`)"
        yield problem("KV293", text)
    unused = [code for code in unused if code not in unknown]
    if unused:
        where = "this line" if comment.line else "this file"
        is_whole = len(unused) == len(comment.codes)
        part = "comment" if is_whole else "code from the comment"
        text = f"no warning {listed(unused)} is reported for {where}: remove the {part}"
        yield problem("KV291", text, _removal(comment) if is_whole else None)
    if not comment.reason:
        yield problem("KV292", "the comment has no reason: write it after the brackets")


def _removal(comment: IgnoreComment) -> Fix:
    """Return the fix that removes a comment, with its line if nothing else is on it."""
    line, kept = comment.location.line, comment.before.rstrip()
    edit = Edit(line, len(kept) + 1, line, comment.end, "")
    if not kept:
        edit = Edit(line, 1, line + 1, 1, "")
    return Fix("remove the comment", (), (edit,))
