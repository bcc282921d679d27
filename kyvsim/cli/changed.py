"""`--changed`: only what git says has changed is looked at."""

import os
from collections.abc import Callable, Mapping
from typing import Any

import click

from kyvsim.cli.parameters import Effect, bad_value, option
from kyvsim.cli.settings import configuration_files
from kyvsim.cli.streams import say
from kyvsim.load.changed import ChangesError, changes_since
from kyvsim.load.folders import IGNORE_FILE
from kyvsim.report.style import safe_line

changed_option = option(
    "--changed",
    effect=Effect.RUNS,
    is_flag=False,
    flag_value="HEAD",
    metavar="[REF]",
    help="Look only at files that git says are otherwise than where this branch left REF (HEAD); "
    "other resources count as being there already.",
)


def unchanged_of(
    options: Mapping[str, Any], ctx: click.Context, decider: Callable[[], Callable[[str], bool]]
) -> frozenset[str] | None:
    """Return the real paths of the files not to look at, None for none; raises UsageError.

    That is for none, too, where a file has changed by which everything is decided, such as the
    project's configuration, or a policy: what `decider` gives tells of those.
    """
    ref = options["changed"]
    if ref is None:
        return None
    try:
        found = changes_since(ref)
    except ChangesError as error:
        raise bad_value(ctx, "--changed", f"{ref}: {error}") from None
    decides = decider()
    own = {os.path.realpath(one) for one in configuration_files(ctx).paths}
    for one in sorted(found.changed):
        if decides(one) or one in own or os.path.basename(one) == IGNORE_FILE:
            say(safe_line(f"{os.path.relpath(one)} has changed: all files are looked at"))
            return None
    return found.unchanged
