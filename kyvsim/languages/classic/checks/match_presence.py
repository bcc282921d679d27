"""A match block selects something, in one form only.

upstream: pkg/validation/policy/validate.go, validateResources
"""

from collections.abc import Iterator

from kyvsim.languages.classic.checks.refusal import RuleUnderCheck
from kyvsim.model.diagnostic import Diagnostic


def check_match_presence(subject: RuleUnderCheck) -> Iterator[Diagnostic]:
    """Criteria stand under any, all or directly below, and there are some."""
    for block in ("exclude", "match"):
        data = subject.data.get(block, {})
        if (data.get("any") or data.get("all")) and data.get("resources"):
            text = f"can't specify any/all together with {block} resources"
            message = f"path: {subject.text_path}.{block}.: {text}"
            yield subject.refuse("KV142", message, (block,))
    match = subject.data.get("match", {})
    entries = match.get("any") or match.get("all") or [match]
    if not all(entry.get("resources") for entry in entries):
        text = f"path: {subject.text_path}.match.resources.: match resources not specified"
        yield subject.refuse("KV142", text, ("match",))
