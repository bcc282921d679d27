"""Files that were given in the place of others, told by what they hold.

Codes: KV029 inputs that look exchanged.
"""

from collections.abc import Iterable

from kyvsim.load.recognise import looks_like_object, looks_like_policy
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.source import Document


def mistaken(policies: Iterable[Document], resources: Iterable[Document]) -> tuple[Diagnostic, ...]:
    """Return what was probably meant, where resources stand among the policies that were named."""
    named = tuple(policies)
    stray = next((one for one in named if _is_resource(one)), None)
    if stray is None:
        return ()
    text = "resources among the policies: each path of resources needs its own --resource"
    if not any(looks_like_policy(one.data) for one in named) and any(
        looks_like_policy(one.data) for one in resources
    ):
        text = "policies and resources look exchanged: policies are arguments, resources follow -r"
    return (Diagnostic("KV029", Severity.WARNING, text, stray.locate(())),)


def _is_resource(document: Document) -> bool:
    return looks_like_object(document.data) and not looks_like_policy(document.data)
