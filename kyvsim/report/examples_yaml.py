"""Examples of what rules do as a stream of manifests, and how making them ended."""

from collections.abc import Iterator

from kyvsim.model.evidence import Doing, Example, Examples, Missing
from kyvsim.model.result import Ending, Fact, Verdict
from kyvsim.report.ending import error_fact, warning_fact, weighing
from kyvsim.report.object_text import to_yaml
from kyvsim.report.style import counted, safe_line


def stream(examples: Examples) -> Iterator[str]:
    """Yield a document for each object, below comments that say what it shows.

    Comments at the end name the outcomes without an example, and why there is none.
    """
    for number, one in enumerate(examples.found):
        yield "---\n" if number else ""
        yield _document(one)
    yield from (f"# {safe_line(missing_text(one))}\n" for one in examples.missing)


def targets_stream(examples: Examples) -> Iterator[str]:
    """Yield a document for each object that has to be there for the examples."""
    for number, one in enumerate(examples.targets):
        yield "---\n" if number else ""
        yield f"# there for rules that change existing objects\n{to_yaml(one)}"


def _document(one: Example) -> str:
    lines = (f"# {safe_line(doing_text(shown))}\n" for shown in one.shows)
    return "".join((*lines, to_yaml(one.object)))


def doing_text(one: Doing) -> str:
    """Return what a rule does, in words, and where it stands."""
    name = " / ".join(filter(None, (one.policy, one.rule)))
    return f"{one.outcome}: {name} ({one.location})"


def missing_text(one: Missing) -> str:
    """Return an outcome without an example, in words, where its rule stands, and the reason."""
    return f"no example found: {doing_text(one.doing)}: {one.reason}"


def examples_ending(examples: Examples) -> Ending:
    """Return how it ended: what there is no example of makes it fail."""
    missing, found = len(examples.missing), len(examples.found)
    verdict = Verdict.PASSED if found or missing else Verdict.NOTHING
    return Ending(
        (
            error_fact(examples.diagnostics),
            weighing("missing", missing, f"{counted(missing, 'outcome')} without an example"),
            Fact("examples", found, counted(found, "example"), verdict),
            warning_fact(examples.diagnostics),
        )
    )
