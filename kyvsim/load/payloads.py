"""Files with payloads: one map each, in JSON or YAML.

Codes: KV152 a payload that cannot be used.

upstream: cmd/cli/kubectl-kyverno/payload, processor/authz_processor.go
"""

from collections.abc import Iterable

from kyvsim.load.documents import STRICT, STRICT_FLOATS, read_documents
from kyvsim.load.files import Source
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.request import Payload, PayloadMode
from kyvsim.model.source import Location


def read_payloads(
    paths: Iterable[tuple[PayloadMode, str | Source]],
) -> tuple[tuple[Payload, ...], tuple[Diagnostic, ...]]:
    """Return the payloads of files, and what is wrong with the others.

    Numbers of JSON are doubles; in YAML, whole ones are ints.
    """
    found: list[Payload] = []
    said: list[Diagnostic] = []
    for mode, path in paths:
        name = path.name if isinstance(path, Source) else path
        is_json = name.endswith(".json")
        if not is_json and (mode is not PayloadMode.JSON or not name.endswith((".yaml", ".yml"))):
            wanted = "JSON or YAML (.json, .yaml, .yml)" if mode is PayloadMode.JSON else "JSON"
            said.append(_unusable(name, f"its name has to say that it is {wanted}"))
            continue
        documents, remarks = read_documents((path,), None, STRICT_FLOATS if is_json else STRICT)
        said += remarks
        if len(documents) == 1 and documents[0].data.__class__ is dict:
            found.append(Payload(mode, documents[0], name))
        elif not remarks:
            said.append(_unusable(name, "it has to hold one map"))
    return tuple(found), tuple(said)


def _unusable(name: str, reason: str) -> Diagnostic:
    text = f"this is no payload that policies can judge: {reason}"
    return Diagnostic("KV152", Severity.ERROR, text, Location(name))
