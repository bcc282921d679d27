"""`migrate --check`: each policy and what was made of it, compared by cases."""

from kyvsim.api.equal import EqualInputs, compare
from kyvsim.api.inputs import ApplyInputs
from kyvsim.load.files import Source
from kyvsim.model.evidence import Evidence
from kyvsim.model.migration import Conversion, Migration
from kyvsim.report.object_yaml import to_yaml


def with_evidence(migration: Migration, resources: tuple[str, ...], seconds: float) -> Migration:
    """Return a migration with the evidence on each policy that is converted as a whole.

    `resources` are manifests to try, too; `seconds` is how long to make cases of one policy.
    """
    found = tuple(
        _evidence(one, text, resources, seconds) if one.is_whole and text else None
        for one, text in zip(migration.conversions, migration.texts, strict=True)
    )
    return migration._replace(evidence=found)


def _evidence(
    conversion: Conversion, text: str, resources: tuple[str, ...], seconds: float
) -> Evidence | None:
    document = conversion.policy.document
    inputs = EqualInputs(
        old=(Source(document.file, to_yaml(document.data)),),
        new=(Source(f"what becomes of {document.file}", text),),
        shared=ApplyInputs(policies=(), resources=resources),
        seconds=seconds,
    )
    return compare(inputs).evidence
