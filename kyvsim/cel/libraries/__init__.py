"""Libraries of functions: one file each.

`KUBERNETES` lists those of the API server's environment, `EXTENSIONS` those of the language that
Kyverno adds to them.

upstream: k8s.io/apiserver/pkg/cel/environment/base.go, pkg/cel/compiler/env.go
"""

from kyvsim.cel.environment import Library
from kyvsim.cel.libraries.authorizer import AUTHORIZATION
from kyvsim.cel.libraries.encoders import ENCODERS
from kyvsim.cel.libraries.formats import FORMATS
from kyvsim.cel.libraries.lists import KUBERNETES_LISTS, LISTS, TWO_VARIABLES
from kyvsim.cel.libraries.macros import BINDINGS, PROTOS
from kyvsim.cel.libraries.math import MATH
from kyvsim.cel.libraries.networks import NETWORKS
from kyvsim.cel.libraries.operators import OPERATORS
from kyvsim.cel.libraries.optionals import LENIENT_OR_VALUE, OPTIONALS
from kyvsim.cel.libraries.quantities import QUANTITIES
from kyvsim.cel.libraries.regex import REGEX
from kyvsim.cel.libraries.regex_groups import REGEX_GROUPS
from kyvsim.cel.libraries.semvers import SEMVERS
from kyvsim.cel.libraries.sets import SETS
from kyvsim.cel.libraries.standard import STANDARD
from kyvsim.cel.libraries.strings import STRINGS
from kyvsim.cel.libraries.times import TIMES
from kyvsim.cel.libraries.urls import URLS

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
