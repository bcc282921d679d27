"""The environments of Kyverno's policy kinds: the names that each of them provides.

Kinds that validate, mutate and verify images use the API server's environment for stored
expressions; those that generate and delete use the bare language, without loops over two
variables, checks of literals and a limit of steps.

upstream: pkg/cel/compiler/env.go, pkg/cel/policies/*/compiler/compiler.go,
pkg/image/verification/evaluator/compiler.go
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple

from kyvsim.cel.environment import CALL_LIMIT, Environment, Library, environment
from kyvsim.cel.kubernetes import typed_fields
from kyvsim.cel.kyverno import encodings, functions, images, lookups
from kyvsim.cel.libraries import EXTENSIONS, KUBERNETES
from kyvsim.cel.libraries.admission import AUTHORIZATION, ESCAPES, OBJECTS
from kyvsim.cel.libraries.lists import TWO_VARIABLES
from kyvsim.cel.libraries.standard import LENIENT_OR_VALUE
from kyvsim.cel.types import DYN, STRING, CelType, list_of, map_of, struct
from kyvsim.model.ports import Clock, Entropy
from kyvsim.model.release import NEWEST, Release

EVERYWHERE: tuple[Library, ...] = (
    lookups.GLOBAL_CONTEXT,
    images.IMAGES,
    images.IMAGE_DATA,
    functions.HASHES,
    functions.ROUNDING,
    encodings.JSON,
    encodings.YAML,
    functions.TRANSFORM,
    encodings.GZIP,
    lookups.HTTP,
)
"""The libraries of all policy kinds; an environment adds its own.

Some releases have other versions of two of them. In upstream's order: if several overloads match,
the first determines the result type.
"""
_USERS, _CERTIFICATES = functions.USERS, encodings.CERTIFICATES
VARIABLES = "kyverno.variables"
VARIABLES_TYPE = struct(VARIABLES)
_EXCEPTION = "libs.Exception"
_UNRESOLVED = "compiler.Exception"
"""Upstream's name of that type if it declares the variable without its fields."""
_UNLIMITED = 10 * CALL_LIMIT
"""The maximum steps of an expression without limit in upstream."""


class PolicyEnvironment(NamedTuple):
    """The additions of a policy kind to the common environment."""

    stored: bool
    """Whether it is based on the API server's environment."""
    libraries: tuple[Library, ...] = (_USERS, _CERTIFICATES)
    exceptions: str = _EXCEPTION
    """The type of `exceptions`, which has no fields unless it is the default; "" without it."""
    mixes_types: bool = False
    """Whether the elements of a list or map literal may have different types."""
    variables: tuple[tuple[str, CelType], ...] = ()
    lenient: bool = True
    """Whether `orValue` accepts values that are not optional."""
    generates: bool = False
    bare_payloads: bool = False
    """Whether mode JSON has neither variables of requests nor those of the policy."""
    unbound: frozenset[str] = frozenset()


KINDS: Mapping[str, PolicyEnvironment] = {
    "ValidatingPolicy": PolicyEnvironment(stored=True),
    "MutatingPolicy": PolicyEnvironment(
        stored=True, libraries=(_USERS, _CERTIFICATES, OBJECTS, ESCAPES)
    ),
    "GeneratingPolicy": PolicyEnvironment(
        stored=False, libraries=(_CERTIFICATES,), mixes_types=True, generates=True
    ),
    "DeletingPolicy": PolicyEnvironment(
        stored=False,
        libraries=(_CERTIFICATES, OBJECTS),
        exceptions=_UNRESOLVED,
        unbound=frozenset({"request", "oldObject", "exceptions"}),
    ),
    "ImageValidatingPolicy": PolicyEnvironment(
        stored=True,
        libraries=(_USERS, images.UNKNOWN),
        exceptions="",
        variables=(
            ("images", map_of(STRING, list_of(STRING))),
            ("attestors", map_of(STRING, DYN)),
            ("attestations", map_of(STRING, STRING)),
        ),
        lenient=False,
        bare_payloads=True,
    ),
}
"""By the kind of the policy, without the prefix `Namespaced`."""


def _everywhere(release: Release) -> Iterator[Library]:
    for one in EVERYWHERE:
        if one is images.IMAGES and not release.keeps_tags_beside_digests:
            yield images.TAG_OR_DIGEST
        elif one is encodings.JSON and not release.marshals_parts:
            yield encodings.SHALLOW_JSON
        else:
            yield one


@lru_cache(maxsize=8)
def kyverno_environment(
    kind: str, clock: Clock, entropy: Entropy, mode: str = "Kubernetes", release: Release = NEWEST
) -> Environment:
    """Return the environment of a kind such as `ValidatingPolicy` or `NamespacedValidatingPolicy`.

    The order of its variables is arbitrary: pass values by name, with `ordered`.
    """
    cluster_kind = kind.removeprefix("Namespaced")
    own, namespaced = KINDS[cluster_kind], kind != cluster_kind
    left_out = set() if own.stored else {TWO_VARIABLES.name, AUTHORIZATION.name}
    if not own.lenient:
        left_out.add(LENIENT_OR_VALUE.name)
    generator = lookups.NAMESPACED_GENERATOR if namespaced else lookups.CLUSTER_GENERATOR
    found = environment(
        (
            *(one for one in (*KUBERNETES, *EXTENSIONS) if one.name not in left_out),
            *_everywhere(release),
            functions.random_library(entropy),
            functions.time_library(clock),
            lookups.NAMESPACED_RESOURCES if namespaced else lookups.CLUSTER_RESOURCES,
            *own.libraries,
            *((generator,) if own.generates else ()),
        )
    )
    variables = [("object", DYN)]
    if mode != "JSON" or not own.bare_payloads:
        variables += [
            ("oldObject", DYN),
            ("request", struct("kubernetes.AdmissionRequest")),
            ("namespaceObject", struct("kubernetes.Namespace")),
            ("variables", VARIABLES_TYPE),
        ]
    if own.exceptions:
        variables.append(("exceptions", struct(own.exceptions)))
    fields = {
        **typed_fields(),
        VARIABLES: {},
        functions.SERVICE_ACCOUNT: functions.SERVICE_ACCOUNT_FIELDS,
        _EXCEPTION: {"allowedImages": list_of(STRING), "allowedValues": list_of(STRING)},
    }
    request = "kubernetes.AdmissionRequest"
    fields[request] = {**fields[request], "object": DYN, "oldObject": DYN}
    return found._replace(
        variables=(*variables, *own.variables, *found.variables),
        fields=MappingProxyType(fields),
        limit=CALL_LIMIT if own.stored else _UNLIMITED,
        checks_literals=own.stored,
        checks_mixtures=not own.mixes_types,
        folds=own.stored,
        unbound=own.unbound,
    )


def image_reference_environment(release: Release) -> Environment:
    """Return the environment of `matchImageReferences`, whose only variable is `ref`.

    upstream: pkg/cel/compiler/env.go (NewMatchImageEnv)
    """
    left_out = {TWO_VARIABLES.name, AUTHORIZATION.name, LENIENT_OR_VALUE.name}
    base = (one for one in (*KUBERNETES, *EXTENSIONS) if one.name not in left_out)
    of_images = next(one for one in _everywhere(release) if one.name == images.IMAGES.name)
    found = environment((*base, of_images))
    return found._replace(variables=(("ref", STRING),), checks_literals=False, folds=False)


def ordered(env: Environment, values: Mapping[str, Any]) -> list[Any]:
    """Return the values of an environment's variables in its order; None if one is missing."""
    return [values.get(name) for name, _ in env.variables]
