"""Programs that the user asks kyvsim to run: where they are, and what they are kept from.

They work on folders that others wrote. So a program is never taken from such a folder, and none of
them connects to anything: kyvsim is offline, and transports are a way to run commands.
"""

import os
import shutil
from collections.abc import Mapping
from types import MappingProxyType

NO_TRANSPORT: Mapping[str, str] = MappingProxyType(
    {"GIT_ALLOW_PROTOCOL": "none", "GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0"}
)
"""Variables that keep git from fetching: `none` is a transport that does not exist."""
_NO_PROXY_THERE = "http://127.0.0.1:9"
"""An address at which nothing listens (port 9 is `discard`): what goes through a proxy fails."""


def program_on_path(name: str) -> str | None:
    """Return the path of a program, None where it is not on the PATH.

    Entries of the PATH that are not absolute lead into the working folder: they do not count, nor
    does that folder itself, in which Windows looks first.
    """
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    found = shutil.which(name, path=os.pathsep.join(filter(os.path.isabs, folders)))
    return found if found is not None and os.path.isabs(found) else None


def offline_environment() -> Mapping[str, str]:
    """Return this process's environment without ways to connect, for helm and kustomize.

    Both use Go's `net/http`, which takes its proxies from these variables; kustomize fetches remote
    bases with git. Plugins of helm are programs that a chart's values can name.
    """
    kept = {name: one for name, one in os.environ.items() if name.upper() != "NO_PROXY"}
    proxies = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY"), _NO_PROXY_THERE)
    lower = {name.lower(): one for name, one in proxies.items()}
    return {**kept, **proxies, **lower, **NO_TRANSPORT, "HELM_NO_PLUGINS": "1"}
