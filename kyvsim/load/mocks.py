"""Answers to calls and global data, as values files and test manifests give them.

Codes: KV033 an entry that cannot be used, KV034 a second entry for the same call or name.
upstream: cmd/cli/kubectl-kyverno/apis/v1alpha1/test.go and store/gctx_load.go, gctx_resolve.go
"""

import os
from collections.abc import Iterator

from kyvsim.kube.objects import Json
from kyvsim.load.documents import AS_RESOURCES, read_documents
from kyvsim.load.image_data import load_image_data
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.source import Document
from kyvsim.model.values import CallAnswer, GlobalData, Mocks

_METHODS = frozenset({"", "GET", "POST"})
_STATUSES = range(100, 600)
_DEFAULT_STATUS = 200


def load_mocks(document: Document) -> tuple[Mocks, tuple[Diagnostic, ...]]:
    """Return the answers in a document whose shape was checked, and what is wrong with others.

    Files with resources are looked for beside the document.
    """
    remarks: list[Diagnostic] = []
    calls: dict[tuple[str, str], CallAnswer] = {}
    for index, entry in enumerate(document.data.get("apiCallResponses") or ()):
        path = ("apiCallResponses", index)
        key, answer, problem = _call(entry)
        if key in calls:
            text = f"there is another answer to {' '.join(filter(None, key))} before this one"
            remarks.append(Diagnostic("KV034", Severity.ERROR, text, document.locate(path)))
        elif problem:
            remarks.append(Diagnostic("KV033", Severity.ERROR, problem, document.locate(path)))
        calls.setdefault(key, answer)
    data: dict[str, GlobalData] = {}
    for index, entry in enumerate(document.data.get("globalContextEntries") or ()):
        name = entry["name"].strip()
        if name in data:
            text = f"there is another global context entry `{name}` before this one"
            place = document.locate(("globalContextEntries", index))
            remarks.append(Diagnostic("KV034", Severity.ERROR, text, place))
        content, problems = _content(entry, document)
        remarks += problems
        projections = tuple((one["name"], one["path"]) for one in entry.get("projections") or ())
        data.setdefault(name, GlobalData(content, entry.get("fieldPath") or "", projections))
    images = load_image_data(document.data.get("images"))
    return Mocks(calls, data, images), tuple(remarks)


def _call(entry: Json) -> tuple[tuple[str, str], CallAnswer, str]:
    """Return what an answer is found by, the answer, and what is wrong with it or ""."""
    url = (entry.get("url") or entry.get("urlPath") or "").strip()
    method = (entry.get("method") or "").strip().upper()
    response = entry["response"]
    status = int(response.get("statusCode") or _DEFAULT_STATUS)
    problem = ""
    if method not in _METHODS:
        problem = f"`method` must be GET or POST, not `{method}`"
    elif status not in _STATUSES:
        problem = f"`statusCode` must be between 100 and 599, not {status}"
    return (method, url), CallAnswer(status, response["body"]), problem


def _content(entry: Json, document: Document) -> tuple[Json, tuple[Diagnostic, ...]]:
    if "data" in entry:
        return entry["data"], ()
    if "resources" in entry:
        return entry["resources"], ()
    found, remarks = read_documents(files_of(entry, document), None, AS_RESOURCES)
    return [one.data for one in found if one.data], remarks


def files_of(entry: Json, document: Document) -> Iterator[str]:
    """Yield the files with resources that an entry of global data names, beside its document."""
    folder = os.path.dirname(document.file)
    for name in entry.get("resourceFiles") or ():
        yield os.path.join(folder, name)
