"""A progress bar for long work, on a terminal only."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

Item = TypeVar("Item")

_PATIENCE = 1.0
"""Seconds of work before a bar appears."""


def with_progress(items: Iterator[Item], total: int, what: str) -> Iterator[Item]:
    """Yield `items`; when that takes long, show on standard error how many of `total` are done."""
    start = time.monotonic()
    done = 0
    for item in items:
        yield item
        done += 1
        if time.monotonic() - start > _PATIENCE:
            break
    else:
        return
    yield from _with_bar(items, done, lambda _, __: total, what)


@contextlib.contextmanager
def waiting(what: str, *, shown: bool) -> Iterator[None]:
    """Show on standard error what is being done, where the work inside takes long."""
    if not shown:
        yield
        return
    with contextlib.ExitStack() as stack:
        lock = threading.Lock()
        over = False

        def begin() -> None:
            from rich.console import Console

            with lock:
                if not over:
                    stack.enter_context(Console(stderr=True).status(f"{what} …"))

        timer = threading.Timer(_PATIENCE, begin)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            with lock:
                over = True


def with_growing_progress(
    items: Iterator[Item], total: Callable[[Item, int], int], what: str
) -> Iterator[Item]:
    """Yield `items` as `with_progress` does where the total is only known on the way.

    `total` is asked with each item and its number.
    """
    return _with_bar(items, 0, total, what)


def _with_bar(
    items: Iterator[Item], done: int, total: Callable[[Item, int], int], what: str
) -> Iterator[Item]:
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=None, completed=done)
        for number, item in enumerate(items, done + 1):
            yield item
            progress.update(task, completed=number, total=total(item, number))
