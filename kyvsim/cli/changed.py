"""`--changed`: only what git says has changed is looked at."""

import os
from collections.abc import Callable, Mapping
from typing import Any

from kyvsim.cli import declared
from kyvsim.cli.streams import say
from kyvsim.report.style import safe_line

changed_option = declared.option(
    "--changed",
    is_flag=False,
    flag_value="HEAD",
    metavar="[REF]",
    help="Look only at files that git says are otherwise than where this branch left REF (HEAD); "
    "other resources count as being there already.",
)


def changed_of(
    options: Mapping[str, Any], call: declared.Call, decides: Callable[[str], bool]
) -> frozenset[str] | None:
    """Return the real paths of the files to look at, None for all; raises UsageError.

    That is for all, too, where a file has changed by which everything is decided, such as a policy.
    """
    ref = options["changed"]
    if ref is None:
        return None
    from kyvsim.load.changed import ChangesError, changed_files  # noqa: PLC0415 — seldom asked for

    try:
        found = changed_files(ref)
    except ChangesError as error:
        raise declared.UsageError(f"--changed {ref}: {error}", call) from None
    first = next((one for one in sorted(found) if decides(one)), None)
    if first is None:
        return found
    say(safe_line(f"{os.path.relpath(first)} has changed: all resources are looked at"))
    return None
