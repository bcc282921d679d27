"""Files that were given in the place of others, recognised by what they hold.

Codes: KV026 no policy among what is given, KV029 inputs that look exchanged.
"""

from collections.abc import Iterable, Sequence

from kyvsim.kube.objects import Json, text_field
from kyvsim.load.recognise import (
    is_related,
    looks_like_object,
    looks_like_policy,
    what_reads,
)
from kyvsim.model.diagnostic import Diagnostic, Severity, listed
from kyvsim.model.source import Document, Location

_EXCHANGED = "policies and resources look exchanged: policies are arguments, resources follow -r"


def mistaken(
    policies: Iterable[Document], resources: Iterable[Document], empty_folders: Sequence[str] = ()
) -> tuple[Diagnostic, ...]:
    """Return what was probably meant, where resources are among the policies that were named.

    `empty_folders` are those that were given for policies and have none.
    """
    named = tuple(policies)
    stray = next((one.locate(()) for one in named if _is_resource(one)), None)
    exchanged = not any(looks_like_policy(one.data) for one in named) and any(
        looks_like_policy(one.data) for one in resources
    )
    if stray is None and exchanged and empty_folders:
        stray = Location(empty_folders[0])
    if stray is None:
        return ()
    text = "resources among the policies: each path of resources needs its own --resource"
    return (Diagnostic("KV029", Severity.WARNING, _EXCHANGED if exchanged else text, stray),)


def _is_resource(document: Document) -> bool:
    data = document.data
    return looks_like_object(data) and not looks_like_policy(data) and not is_related(data)


def only_policies(resources: Sequence[Json], path: str) -> Diagnostic | None:
    """Return that all resources are policies, or documents of programs around Kyverno.

    To be asked where no rule matched any of them. `path` is the first that was given for resources.
    """
    if not resources or not all(looks_like_policy(one) or is_related(one) for one in resources):
        return None
    kinds = listed({text_field(one, "kind") for one in resources})
    advice = "policies are arguments, resources follow --resource"
    if not any(map(looks_like_policy, resources)):
        advice = next(filter(None, map(what_reads, resources)), advice)
    text = f"no rule matched, and nothing but {kinds} is given as a resource: {advice}"
    return Diagnostic("KV029", Severity.ERROR, text, Location(path))


def without_policies(documents: Sequence[Document]) -> Diagnostic | None:
    """Return that there is no policy among documents that were given for policies."""
    if not documents:
        return None
    kinds = listed({text_field(one.data, "kind") for one in documents})
    text = f"there is no policy here, only {kinds}"
    return Diagnostic("KV026", Severity.ERROR, text, documents[0].locate(()))
