"""Remarks about input files as issues of a code quality report of GitLab."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator

from kyvsim.kube.objects import Json
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.source import Location
from kyvsim.report.gitlab_issue import issue, weight_word


def diagnostic_issues(diagnostics: Iterable[Diagnostic]) -> Iterator[Json]:
    """Yield an issue for each remark.

    Its fingerprint is made of code, file and message, so that it stays when lines move; those that
    agree in all are counted.
    """
    seen: Counter[str] = Counter()
    for entry in diagnostics:
        place = entry.location or Location("")
        key = json.dumps([entry.code, place.file, entry.message])
        seen[key] += 1
        parts = f"{key} {seen[key]}"
        fingerprint = hashlib.sha256(parts.encode("utf-8", "surrogateescape")).hexdigest()[:32]
        told = (entry.code, entry.message)
        yield issue(told, weight_word(entry.severity), place, fingerprint)
