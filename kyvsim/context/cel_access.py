"""What CEL expressions read of the world: objects, images, shared data, answers of services.

upstream: pkg/cel/libs/fake_context.go, with the objects given in place of a fake cluster's.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from kyvsim.cel.kyverno.http import HttpAccess
from kyvsim.cel.kyverno.image_data import ImageDataAccess
from kyvsim.cel.kyverno.json import JsonCodec
from kyvsim.cel.kyverno.resources import ResourceAccess
from kyvsim.cel.kyverno.yaml import YamlCodec
from kyvsim.kube.objects import Json, labels
from kyvsim.model.ports import ClusterView


def resource_access(clusters: Sequence[ClusterView], namespace: str = "") -> ResourceAccess:
    """Return the value of `resource`: reads answered by the objects of the first that has them."""

    def get(api_version: str, resource: str, within: str, name: str) -> Any:
        found = (
            one.get(api_version, _kind(one, api_version, resource), within, name)
            for one in clusters
        )
        return next((obj for obj in found if obj is not None), None)

    def listed(
        api_version: str, resource: str, within: str, wanted: Mapping[str, str]
    ) -> Sequence[Any]:
        for one in clusters:
            kind = _kind(one, api_version, resource)
            if one.list(api_version, kind, ""):
                found = one.list(api_version, kind, within)
                return [obj for obj in found if wanted.items() <= labels(obj).items()]
        raise LookupError(f"{resource} resource not found")

    return ResourceAccess(get, listed, namespace)


def _kind(cluster: ClusterView, api_version: str, resource: str) -> str:
    if api_version.count("/") > 1:
        raise LookupError(f"unexpected GroupVersion string: {api_version}")
    return cluster.kind_of(api_version, resource)


def image_access(images: Mapping[str, Json]) -> ImageDataAccess:
    """Return the value of `image`: answers for the references that `images` have."""
    return ImageDataAccess(images.get)


def no_services() -> HttpAccess:
    """Return the value of `http` where no answer is given."""

    def answer(method: str, url: str) -> Any:
        raise LookupError(f"{method} {url}: kyvsim works offline")

    return HttpAccess(answer)


def constants() -> dict[str, Any]:
    """Return the values that are the same in every evaluation, by the names of variables."""
    return {"json": JsonCodec(), "yaml": YamlCodec(), "mylib_version": ""}
