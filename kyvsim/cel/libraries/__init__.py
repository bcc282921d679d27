"""Libraries of functions: one file each; `KUBERNETES` lists those of the API server's environment.

upstream: k8s.io/apiserver/pkg/cel/environment/base.go
"""

from kyvsim.cel.environment import Library
from kyvsim.cel.libraries.authorizer import AUTHORIZATION
from kyvsim.cel.libraries.formats import FORMATS
from kyvsim.cel.libraries.lists import KUBERNETES_LISTS, LISTS, TWO_VARIABLES
from kyvsim.cel.libraries.networks import NETWORKS
from kyvsim.cel.libraries.operators import OPERATORS
from kyvsim.cel.libraries.optionals import LENIENT_OR_VALUE, OPTIONALS
from kyvsim.cel.libraries.quantities import QUANTITIES
from kyvsim.cel.libraries.regex import REGEX
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

__all__ = ["KUBERNETES"]
