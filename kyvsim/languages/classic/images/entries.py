"""The entries of `verifyImages`, with the fields of older policies put into today's.

upstream: api/kyverno/v1/image_verification_types.go (`Convert`)
"""

from collections.abc import Iterable, Mapping

from kyvsim.kubernetes.objects import Json
from kyvsim.kubernetes.wildcard import matches


def entries_of(rule: Mapping[str, Json]) -> list[Json]:
    """Return the entries of a rule in today's form."""
    return [today_form(entry) for entry in rule.get("verifyImages") or ()]


def today_form(entry: Json) -> Json:
    """Return an entry whose `image`, `key` and `issuer` stand among references and attestors."""
    image, key, issuer = (entry.get(name) for name in ("image", "key", "issuer"))
    if not (image or key or issuer):
        return entry
    changed = dict(entry)
    if image:
        changed["imageReferences"] = [*(entry.get("imageReferences") or ()), image]
    annotations = entry.get("annotations")
    if annotations or key or issuer:
        attestor: dict[str, Json] = {"annotations": annotations} if annotations else {}
        if key:
            attestor["keys"] = {"publicKeys": key}
        elif issuer:
            attestor["keyless"] = {
                "issuer": issuer,
                "subject": entry.get("subject") or "",
                "roots": entry.get("roots") or "",
            }
        given = entry.get("attestors") or ()
        changed["attestors"] = [*given, {"entries": [attestor]}]
    return changed


def fits(image: str, patterns: Iterable[str] | None) -> bool:
    """Return whether an image's reference fits one of the wildcard patterns."""
    return any(matches(pattern, image) for pattern in patterns or ())
