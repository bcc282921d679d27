"""The outcome of tests as one YAML document: that of the JSON format."""

from collections.abc import Iterator

from kyvsim.model.suite import SuiteOutcome
from kyvsim.report.diagnostics import diagnostic_json
from kyvsim.report.ending import ending_json
from kyvsim.report.mutants_json import mutants_json
from kyvsim.report.object_text import to_yaml
from kyvsim.report.suite_json import row_json
from kyvsim.report.suite_rows import Sight, every_diagnostic, shown_rows, suite_ending, tally_of


def render(outcome: SuiteOutcome, sight: Sight) -> Iterator[str]:
    """Yield the document as a whole."""
    found = {
        "results": [row_json(file, row) for file, row in shown_rows(outcome, sight)],
        "diagnostics": [diagnostic_json(one) for one in every_diagnostic(outcome)],
        "ending": ending_json(suite_ending(outcome)),
        "summary": tally_of(outcome)._asdict(),
    }
    if outcome.mutants is not None:
        found["mutants"] = mutants_json(outcome.mutants)
    yield to_yaml(found)
