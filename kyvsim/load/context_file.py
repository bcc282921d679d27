"""Context files of Kyverno's command line: objects of a cluster, and data of images.

Codes: KV090 a document of another kind.
"""

from kyvsim.kube.objects import Json, text_field
from kyvsim.load.documents import AS_WRITTEN, read_documents
from kyvsim.load.files import Source
from kyvsim.load.structure import check, diagnostics
from kyvsim.load.values import cli_schemas
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.ports import ContextData


def read_context_file(
    path: str | Source, stdin: bytes | None = None
) -> tuple[ContextData, tuple[Diagnostic, ...]]:
    """Return the data of a file of kind Context; none where no file is named."""
    if not path:
        return ContextData(), ()
    documents, remarks = read_documents((path,), stdin, AS_WRITTEN)
    said = list(remarks)
    resources: list[Json] = []
    images: dict[str, Json] = {}
    for document in documents:
        if text_field(document.data, "kind") != "Context":
            message = "a context file holds a document of kind `Context`"
            said.append(Diagnostic("KV090", Severity.ERROR, message, document.locate(())))
            continue
        data, problems = check(cli_schemas()["Context"], document.data)
        said += diagnostics(document, problems)
        spec = {} if problems else data.get("spec") or {}
        resources += spec.get("resources") or ()
        images |= {text_field(one, "image"): one for one in spec.get("images") or ()}
    return ContextData(tuple(resources), images), tuple(said)
