"""A pool of processes that a killed process cannot block: the only module that starts workers.

`ProcessPoolExecutor` has one queue of results for all processes. If one is killed while it sends a
result (by the kernel, for lack of memory), reading the rest of that result never ends.
"""

import signal
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from multiprocessing import connection, get_context, parent_process
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from kyvsim.api.system import can_fork

if TYPE_CHECKING:
    from multiprocessing.context import DefaultContext, ForkContext, SpawnContext

    _Context = DefaultContext | ForkContext | SpawnContext

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")


class ProcessLostError(Exception):
    """The process of a task was killed, or its result could not be read."""


class ProcessPool(Executor):
    """Processes with a connection each, over which one task at a time is sent.

    For each process there is a thread, which waits for a result. A task fails with
    ProcessLostError if its process is killed.
    """

    def __init__(
        self,
        count: int,
        begin: Callable[[], None] | None = None,
        context: "_Context | None" = None,
    ) -> None:
        """Start the processes, each of which calls `begin` before its first task.

        They are forked if that is safe, so that they inherit compiled policies, unless `context`
        says otherwise. Raises OSError if no process can be started.
        """
        context = context or get_context("fork" if can_fork() else None)
        self._threads = ThreadPoolExecutor(count)
        self._connections: list[Connection] = []
        self._idle: SimpleQueue[Connection] = SimpleQueue()
        self._processes: list[BaseProcess] = []
        try:
            for _ in range(count):
                self._start_process(context, begin)
        except OSError:
            self.shutdown()
            raise

    def _start_process(self, context: "_Context", begin: Callable[[], None] | None) -> None:
        ours, theirs = context.Pipe()
        self._connections.append(ours)
        # The end of the process is closed here before the next one could inherit it: only then
        # reading ends with an error when the process is killed.
        with theirs:
            process = context.Process(target=_run_tasks, args=(theirs, begin))
            process.start()
        self._processes.append(process)
        self._idle.put(ours)

    def submit(
        self,
        function: Callable[_Parameters, _Result],
        /,
        *args: _Parameters.args,
        **kwargs: _Parameters.kwargs,
    ) -> Future[_Result]:
        """Have a function called by the next idle process."""
        return self._threads.submit(self._result_of, partial(function, *args, **kwargs))

    def _result_of(self, task: Callable[[], _Result]) -> _Result:
        process = self._idle.get()
        try:
            process.send(task)
            result, error = process.recv()
        except Exception as problem:  # what loading a result can raise is up to its class
            raise ProcessLostError("a process was lost") from problem
        finally:
            self._idle.put(process)
        if error is not None:
            raise error
        found: _Result = result
        return found

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = True) -> None:
        """Kill the processes, whatever they are doing."""
        for process in self._processes:
            process.kill()
        self._threads.shutdown(wait, cancel_futures=cancel_futures)
        for process in self._processes:
            process.join()
        for ours in self._connections:
            ours.close()


def _run_tasks(parent: Connection, begin: Callable[[], None] | None) -> None:
    """Call the functions that are received, and send results and errors back."""
    _end_with_parent()
    with suppress(EOFError, OSError):
        while True:
            task: Callable[[], Any] = parent.recv()
            try:
                if begin is not None:
                    begin()
                    begin = None
                parent.send((task(), None))
            except Exception as error:  # noqa: BLE001 — it is raised where the result is wanted
                parent.send((None, error))


def _end_with_parent() -> None:
    """Make this process end with its parent, which alone handles interrupts."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    parent = parent_process()
    if parent is None:
        return
    sentinel = parent.sentinel

    def wait_for_end() -> None:
        connection.wait([sentinel])
        signal.raise_signal(signal.SIGTERM)

    threading.Thread(target=wait_for_end, daemon=True).start()
