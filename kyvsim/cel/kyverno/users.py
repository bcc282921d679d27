"""Names of service accounts taken apart.

Source of the rules: upstream kyverno/sdk extensions/cel/libs/user.
"""

from types import MappingProxyType

from kyvsim.cel.environment import Library, function, way
from kyvsim.cel.types import STRING, CelType, struct

_PREFIX = "system:serviceaccount:"
SERVICE_ACCOUNT = "user.ServiceAccount"
SERVICE_ACCOUNT_FIELDS: MappingProxyType[str, CelType] = MappingProxyType(
    {"Name": STRING, "Namespace": STRING}
)


class ServiceAccount(dict[str, str]):
    """Name and namespace as a value of expressions, both empty for who is no service account."""

    cel_type = struct(SERVICE_ACCOUNT)

    def as_json(self) -> dict[str, str]:
        """Return the fields by their names in JSON; empty ones are left out."""
        return {name.lower(): value for name, value in self.items() if value}


def _parse(user: str) -> ServiceAccount:
    namespace, colon, name = user.removeprefix(_PREFIX).partition(":")
    if not colon or not user.startswith(_PREFIX):
        namespace = name = ""
    return ServiceAccount(Name=name, Namespace=namespace)


USERS = Library(
    "users",
    tuple(
        function(name, way("(string) -> dyn", _parse)._replace(result=ServiceAccount.cel_type))
        for name in ("parseServiceAccount", "user.parseServiceAccount")
    ),
    types=((ServiceAccount, ServiceAccount.cel_type),),
)
