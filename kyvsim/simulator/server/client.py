"""The API as one user sees it."""

from collections.abc import Sequence
from dataclasses import replace

from kyvsim.kubernetes.objects import Json, ObjectKey, object_key
from kyvsim.model.request import Operation, UserInfo
from kyvsim.patch.json_patch import merge_patch
from kyvsim.simulator.server import errors
from kyvsim.simulator.server.request import ApiRequest, ApiResponse, Purpose
from kyvsim.simulator.server.server import ApiServer

ADMIN = UserInfo("kubernetes-admin", groups=("kubeadm:cluster-admins", "system:authenticated"))
"""Who works on a cluster where nobody else is named."""


class Client:
    """Requests of one user for one purpose, each taken its whole way in one step."""

    def __init__(self, server: ApiServer, user: UserInfo, purpose: Purpose | None = None) -> None:
        self._server = server
        self._purpose = purpose
        self.user = user

    def get(self, api_version: str, kind: str, namespace: str, name: str) -> Json | None:
        """Return the object, or None."""
        return self._server.store.get(api_version, kind, namespace, name)

    def list(self, api_version: str, kind: str, namespace: str = "") -> Sequence[Json]:
        """Return the objects of a kind in a namespace ("" for all)."""
        return self._server.store.list(api_version, kind, namespace)

    def create(self, obj: Json, *, dry_run: bool = False) -> ApiResponse:
        """Create an object."""
        request = ApiRequest(Operation.CREATE, object_key(obj), self.user, obj, dry_run=dry_run)
        return self.send(request)

    def update(self, obj: Json, subresource: str = "") -> ApiResponse:
        """Put an object in the place of the one that is there."""
        key = object_key(obj)
        request = ApiRequest(Operation.UPDATE, key, self.user, obj, subresource=subresource)
        return self.send(request)

    def merge(
        self, key: ObjectKey, patch: Json, subresource: str = "", *, dry_run: bool = False
    ) -> ApiResponse:
        """Change the object that is there by a merge patch (RFC 7386)."""
        now = self.get(*key)
        if now is None:
            return ApiResponse(error=errors.not_found(key, self._server.store.defined))
        patched = merge_patch(now, patch)
        request = ApiRequest(
            operation=Operation.UPDATE,
            key=key,
            user=self.user,
            object=patched,
            subresource=subresource,
            dry_run=dry_run,
            patch="merge",
        )
        return self.send(request)

    def delete(self, key: ObjectKey, propagation: str = "Background") -> ApiResponse:
        """Delete an object."""
        request = ApiRequest(Operation.DELETE, key, self.user, propagation=propagation)
        return self.send(request)

    def send(self, request: ApiRequest) -> ApiResponse:
        """Send a request of any kind, in this user's name and for the client's purpose."""
        return self._server.perform(replace(request, user=self.user, purpose=self._purpose))
