"""Libraries of functions: one module each.

`KUBERNETES` lists those of the API server's environment, `EXTENSIONS` those of the language that
Kyverno adds.

upstream: k8s.io/apiserver/pkg/cel/environment/base.go, pkg/cel/compiler/env.go
"""

from kyvsim.cel.environment import Library
from kyvsim.cel.libraries.admission import AUTHORIZATION
from kyvsim.cel.libraries.kubernetes_types import FORMATS, QUANTITIES, SEMVERS, URLS
from kyvsim.cel.libraries.lists import KUBERNETES_LISTS, LISTS, SETS, TWO_VARIABLES
from kyvsim.cel.libraries.math import MATH
from kyvsim.cel.libraries.networks import NETWORKS
from kyvsim.cel.libraries.standard import (
    BINDINGS,
    LENIENT_OR_VALUE,
    OPERATORS,
    OPTIONALS,
    PROTOS,
    STANDARD,
    TIMES,
)
from kyvsim.cel.libraries.strings import ENCODERS, REGEX, REGEX_GROUPS, STRINGS

KUBERNETES: tuple[Library, ...] = (
    OPERATORS,
    STANDARD,
    TIMES,
    STRINGS,
    LISTS,
    KUBERNETES_LISTS,
    TWO_VARIABLES,
    SETS,
    REGEX,
    URLS,
    NETWORKS,
    QUANTITIES,
    SEMVERS,
    FORMATS,
    AUTHORIZATION,
    OPTIONALS,
    LENIENT_OR_VALUE,
)

EXTENSIONS: tuple[Library, ...] = (BINDINGS, ENCODERS, MATH, PROTOS, REGEX_GROUPS)

__all__ = ["EXTENSIONS", "KUBERNETES"]
