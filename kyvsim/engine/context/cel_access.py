"""External data for CEL expressions: objects, images, shared data, responses of services.

Lookups without a result are added to `hints`, with how to provide one.

upstream: pkg/cel/libs (fake_context.go, http_mock.go), with the given objects instead of a fake
cluster's.
"""

from collections.abc import Mapping, Sequence

from kyvsim.cel.errors import CelError
from kyvsim.cel.kyverno.encodings import JsonCodec, YamlCodec
from kyvsim.cel.kyverno.images import ImageDataAccess
from kyvsim.cel.kyverno.lookups import GlobalContextAccess, HttpAccess, ResourceAccess
from kyvsim.engine.context.cluster_api import allows
from kyvsim.engine.context.json_context import MISSING_INPUT, SKIPPED, not_stored
from kyvsim.engine.context.loaders.global_reference import (
    given_data,
    global_data,
    lacks_objects,
    no_objects,
)
from kyvsim.engine.context.restrictions import blocked
from kyvsim.jmespath import QueryError, System
from kyvsim.kubernetes.discovery import split_api_version
from kyvsim.kubernetes.objects import KubernetesObject, labels
from kyvsim.kubernetes.quantities import with_floats
from kyvsim.model.ports import ClusterView, ExternalData
from kyvsim.model.release import Release
from kyvsim.model.request import UserInfo


def resource_access(
    clusters: Sequence[ClusterView], namespace: str, hints: list[str]
) -> ResourceAccess:
    """Return the value of `resource`: it reads objects from the first cluster that has them.

    `namespace` is that of a namespaced policy, "" for others.
    """

    def having(api_version: str, resource: str, wanted: str = "") -> list[tuple[ClusterView, str]]:
        if api_version.count("/") > 1:
            raise LookupError(f"unexpected GroupVersion string: {api_version}")
        known = [(one, one.kind_of(api_version, resource)) for one in clusters]
        found = [(one, kind) for one, kind in known if one.list(api_version, kind, "")]
        if not any(kind for _, kind in known):
            hints.append(
                f"{api_version} has no resource `{resource}`: check the version, and the name, "
                "which is plural and in lowercase, such as `pods`"
            )
        elif not found:
            hints.append(
                f"{MISSING_INPUT}there are no {resource} of {api_version}{wanted}: add them to the "
                "resources, or to a context file under spec.resources"
            )
        return found

    def get(api_version: str, resource: str, within: str, name: str) -> KubernetesObject | None:
        key = "/".join(filter(None, (within, name)))
        having_kind = having(api_version, resource, f", such as {key}")
        found = (one.get(api_version, kind, within, name) for one, kind in having_kind)
        obj = next((obj for obj in found if obj is not None), None)
        if obj is None and not hints:
            hints.append(
                f"{MISSING_INPUT}there is no {resource} {key} of {api_version}: add it to the "
                "resources, or to a context file under spec.resources"
            )
        return obj

    def listed(
        api_version: str, resource: str, within: str, wanted: Mapping[str, str]
    ) -> Sequence[KubernetesObject]:
        for one, kind in having(api_version, resource):
            found = one.list(api_version, kind, within)
            return [obj for obj in found if wanted.items() <= labels(obj).items()]
        group = split_api_version(api_version)[0]
        raise LookupError(f"{f'{resource}.{group}' if group else resource} resource not found")

    return ResourceAccess(get, listed, namespace)


def live_access(
    cluster: ClusterView, account: UserInfo, namespace: str, hints: list[str]
) -> ResourceAccess:
    """Return the value of `resource` in a cluster: the objects that the account may read.

    A served kind has objects, or none; other kinds without objects are unknown to upstream's fake
    cluster.
    """

    def kind_for(verb: str, api_version: str, resource: str, place: tuple[str, str]) -> str:
        group, (within, name) = split_api_version(api_version)[0], place
        attributes = {"group": group, "resource": resource, "namespace": within, "name": name}
        if not allows({"verb": verb, **attributes}, account, cluster):
            where = f'in the namespace "{within}"' if within else "at the cluster scope"
            what = f"{resource}.{group}" if group else resource
            shown = f'{what} "{name}"' if name else what
            raise LookupError(
                f'{shown} is forbidden: User "{account.username}" cannot {verb} resource '
                f'"{resource}" in API group "{group}" {where}'
            )
        kind = cluster.kind_of(api_version, resource)
        if not kind:
            raise LookupError("the server could not find the requested resource")
        return kind

    def get(api_version: str, resource: str, within: str, name: str) -> KubernetesObject | None:
        kind = kind_for("get", api_version, resource, (within, name))
        found = cluster.get(api_version, kind, within, name)
        if found is None:
            hints.append(not_stored(f"{kind} {'/'.join(filter(None, (within, name)))}"))
        return found

    def listed(
        api_version: str, resource: str, within: str, wanted: Mapping[str, str]
    ) -> Sequence[KubernetesObject]:
        kind = kind_for("list", api_version, resource, (within, ""))
        found = cluster.list(api_version, kind, within)
        return [obj for obj in found if wanted.items() <= labels(obj).items()]

    def plural_of(api_version: str, kind: str) -> str:
        if api_version.count("/") > 1:
            raise LookupError(f"unexpected GroupVersion string: {api_version}")
        found = cluster.plural_of(api_version, kind)
        if not found:
            raise LookupError(f'no matches for kind "{kind}" in version "{api_version}"')
        return found

    return ResourceAccess(get, listed, namespace, plural_of)


def image_access(images: Mapping[str, object], hints: list[str]) -> ImageDataAccess:
    """Return the value of `image`: data for the references in `images`."""

    def data_of(reference: str) -> object:
        if reference not in images:
            hints.append(
                f"{MISSING_INPUT}there is no data of the image {reference}: add it to a context "
                f'file: spec: {{images: [{{image: "{reference}"}}]}}'
            )
        return images.get(reference)

    return ImageDataAccess(data_of)


def registry_access() -> ImageDataAccess:
    """Return the value of `image` in a cluster, where Kyverno would query a registry."""

    def data_of(reference: str) -> object:
        raise CelError(f"kyvsim is offline: no data of the image {reference} is available")

    return ImageDataAccess(data_of)


def http_access(external: ExternalData, namespace: str, release: Release) -> HttpAccess:
    """Return the value of `http`: mocked responses; nothing is ever called.

    In a namespaced policy, whose namespace is not "", Kyverno calls nothing either.
    """

    def answer(method: str, url: str) -> object:
        found = external.mocks.answer(method, url)
        if found is not None:
            return {"body": with_floats(found.body), "statusCode": found.status}
        if namespace:
            raise LookupError(
                "http calls are not allowed in namespaced policies: "
                "set --allowHTTPInNamespacedPolicies to enable"
            )
        raise LookupError(
            blocked(method, url, release)
            or f"{method} {url}: kyvsim is offline: add the response to the values file: "
            f'apiCallResponses: [{{url: "{url}", method: {method}, response: {{body: {{}}}}}}]'
        )

    return HttpAccess(answer)


def global_access(
    external: ExternalData, system: System, hints: list[str], namespace: str
) -> GlobalContextAccess:
    """Return the value of `globalContext`: data given for entries, or the data of given entries.

    `namespace` is that of a namespaced policy, "" for others: some releases confine it.
    """
    problem = system.release.global_context_problem("globalContext.*", namespaced=bool(namespace))

    def data_of(name: str, projection: str) -> object:
        if problem:
            raise LookupError(problem)
        try:
            found = (
                _of_mock(name, projection, external, system)
                if name in external.mocks.global_data
                else global_data(name, projection, external, system)
            )
        except QueryError as error:
            raise LookupError(error.message) from None
        if lacks_objects(found, name, external):
            hints.append(no_objects(name))
        if found is not SKIPPED:
            return with_floats(found)
        hints.append(
            not_stored(f"GlobalContextEntry {name}")
            if external.account
            else f"{MISSING_INPUT}there is no data for the GlobalContextEntry {name}, so it is "
            "null: add it and its objects to the resources, or its data to the values file: "
            f'globalContextEntries: [{{name: "{name}", data: {{}}}}]'
        )
        return None

    return GlobalContextAccess(data_of)


def _of_mock(name: str, projection: str, external: ExternalData, system: System) -> object:
    root = given_data(name, external.mocks.global_data[name], system)
    if not projection:
        return root
    missing = f'projection "{projection}" not found in global context entry "{name}"'
    if root.__class__ is not dict:
        raise LookupError(f"{missing}: stored value is not an object")
    if projection not in root:
        raise LookupError(missing)
    return root[projection]


def constants() -> dict[str, object]:
    """Return the constant values of variables, by name."""
    return {"json": JsonCodec(), "yaml": YamlCodec(), "mylib_version": ""}
