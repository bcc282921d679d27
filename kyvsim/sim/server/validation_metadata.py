"""What an API server refuses in names, labels and annotations.

Source of the rules: k8s.io/apimachinery pkg/api/validation.
"""

from collections.abc import Iterator
from functools import lru_cache

from kyvsim.kube.formats import format_problems
from kyvsim.kube.gvk import split_api_version
from kyvsim.kube.objects import Json, annotations, entries, labels, metadata, object_key, text_field

_PATHS = frozenset({"rbac.authorization.k8s.io", "apiregistration.k8s.io"})
"""Groups whose names may be anything that fits into a path."""
_LABEL_NAMES = frozenset({("", "Namespace"), ("", "Service"), ("apps", "StatefulSet")})
_LONGEST_CRON_JOB = 52


def metadata_problems(obj: Json, *, new: bool) -> Iterator[str]:
    """Yield what is wrong with an object's name, labels and annotations."""
    name = text_field(metadata(obj), "name")
    if not name:
        yield "metadata.name: Required value: name or generateName is required"
    elif new:
        for problem in _name_problems(obj, name):
            yield f'metadata.name: Invalid value: "{name}": {problem}'
    namespace = text_field(metadata(obj), "namespace")
    for problem in _problems("dns1123Label", namespace) if namespace and new else ():
        yield f'metadata.namespace: Invalid value: "{namespace}": {problem}'
    for key in sorted(labels(obj)):
        for problem in _problems("qualifiedName", key):
            yield f'metadata.labels: Invalid value: "{key}": {problem}'
    for key in sorted(annotations(obj)):
        for problem in _problems("qualifiedName", key.lower()):
            yield f'metadata.annotations: Invalid value: "{key}": {problem}'
    yield from label_value_problems(obj, "metadata.labels")
    yield from _owner_problems(obj)


def _owner_problems(obj: Json) -> Iterator[str]:
    """Yield what is wrong with owners.

    upstream: k8s.io/apimachinery pkg/api/validation/objectmeta.go (ValidateOwnerReferences).
    """
    path = "metadata.ownerReferences"
    controllers: list[str] = []
    for owner in entries(metadata(obj), "ownerReferences"):
        api_version = text_field(owner, "apiVersion")
        if not split_api_version(api_version)[1]:
            yield f'{path}.apiVersion: Invalid value: "{api_version}": version must not be empty'
        for field in ("kind", "name", "uid"):
            if not text_field(owner, field):
                yield f'{path}.{field}: Invalid value: "": {field} must not be empty'
        if owner.get("controller") is True:
            controllers.append(text_field(owner, "name"))
            if len(controllers) > 1:
                yield (
                    f"{path}: Invalid value: Only one reference can have Controller set to true. "
                    f'Found "true" in references for {controllers[-2]} and {controllers[-1]}'
                )


def label_value_problems(holder: Json, path: str) -> Iterator[str]:
    """Yield what is wrong with the values of labels."""
    for _, value in sorted(labels(holder).items()):
        for problem in _problems("labelValue", value):
            yield f'{path}: Invalid value: "{value}": {problem.replace("characters", "bytes", 1)}'


@lru_cache(maxsize=4096)
def _problems(form: str, text: str) -> tuple[str, ...]:
    """Return what is wrong with a text: many objects have the same labels and annotations."""
    return tuple(format_problems(form, text))


def _name_problems(obj: Json, name: str) -> list[str]:
    key = object_key(obj)
    group = split_api_version(key.api_version)[0]
    if group in _PATHS:
        return [f"may not contain '{one}'" for one in ("/", "%") if one in name]
    if (group, key.kind) in _LABEL_NAMES:
        return format_problems("dns1123Label", name)
    found = format_problems("dns1123Subdomain", name)
    if (group, key.kind) == ("batch", "CronJob") and len(name) > _LONGEST_CRON_JOB:
        found.append(f"must be no more than {_LONGEST_CRON_JOB} characters")
    return found
