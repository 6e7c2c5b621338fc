"""Executor: waits for DDS and timers, runs callbacks one at a time."""

from __future__ import annotations

import inspect
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from cyclonedds.core import DDSException, GuardCondition

from . import dds
from .context import Context, get_default_context
from .exceptions import ExternalShutdownException, ShutdownException, TimeoutException
from .service import MATCH_PERIOD, Service
from .subscription import Subscription
from .task import Future, Task, as_coroutine

#: Maximum duration of one wait, ns: Python handles signals only between calls into C.
_SLICE = 50_000_000
_GUARD_KEY = 0
#: Period in which DDS and timers are polled while messages of the same process keep arriving, ns.
_POLL_PERIOD = 2_000_000


class CallbackGroup:
    """Without effect, for compatibility with rclpy: this executor runs one callback at a time."""


class MutuallyExclusiveCallbackGroup(CallbackGroup):
    """Without effect, for compatibility with rclpy."""


class ReentrantCallbackGroup(CallbackGroup):
    """Without effect, for compatibility with rclpy."""


class SingleThreadedExecutor:
    """Runs the callbacks of its nodes in the thread that spins."""

    def __init__(self, *, context: Context | None = None) -> None:
        self._context = context or get_default_context()
        self._nodes: list[Any] = []
        self._lock = threading.RLock()
        self._is_shutdown = False
        self._ready: deque[Callable[[], Any]] = deque()
        self._tasks: list[Task] = []
        self._waitset: dds.WaitSet | None = None
        self._guard: GuardCondition | None = None
        self._watched: dict[int, Callable[[], Any]] = {}
        self._keys: dict[int, int] = {}
        self._timers: list[Any] = []
        self._services: list[Service] = []
        self._next_key = _GUARD_KEY + 1
        self._stale = True
        self._is_waiting = False
        self._local: deque[Subscription] = deque()
        self._polled = 0
        self._context.on_shutdown(self.wake)

    @property
    def context(self) -> Context:
        """Context; its end stops spinning."""
        return self._context

    def __enter__(self) -> SingleThreadedExecutor:
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()

    def add_node(self, node: Any) -> bool:
        """Add a node; return False if it was already added."""
        with self._lock:
            if node in self._nodes:
                return False
            self._nodes.append(node)
            node.executor = self
        self.refresh()
        return True

    def remove_node(self, node: Any) -> None:
        """Remove a node."""
        with self._lock:
            if node not in self._nodes:
                return
            self._nodes.remove(node)
            if node.executor is self:
                node.executor = None
            self._give_back(node)
        self.refresh()

    def _give_back(self, node: Any) -> None:
        """Return a node's undelivered messages of this process to the context, for its next executor."""
        leaving = set(node.subscriptions)
        for subscription in leaving:
            subscription.local_queue = None
        if self._context.local is not None:
            self._context.local.waiting.extend(item for item in self._local if item in leaving)
            self._local = deque(item for item in self._local if item not in leaving)

    def get_nodes(self) -> list[Any]:
        """Return the nodes."""
        with self._lock:
            return list(self._nodes)

    def create_task(self, callback: Any, *args: Any, **kwargs: Any) -> Task:
        """Run a function or coroutine while spinning; return its future."""
        task = Task(as_coroutine(callback, args, kwargs))
        with self._lock:
            self._tasks.append(task)
        self.wake()
        return task

    def wake(self) -> None:
        """Wake a waiting thread; a busy one polls DDS and timers before the next message of this process."""
        self._polled = 0
        if self._is_waiting:
            self._set_guard(True)

    def _set_guard(self, value: bool) -> None:
        with self._lock:
            if self._guard is None or self._context.participant is None:
                return
            try:
                self._guard.set(value)
            except DDSException:
                if self._context.ok():
                    raise  # otherwise another thread is shutting down the context and has deleted the guard

    def add(self, subscription: Subscription) -> None:
        """Queue a subscription with a new message of this process."""
        self._local.append(subscription)
        if self._is_waiting:
            self.wake()

    def refresh(self) -> None:
        """Collect the entities of the nodes again before the next wait."""
        self._stale = True
        self.wake()

    def shutdown(self, timeout_sec: float | None = None) -> bool:
        """Stop spinning and remove the nodes."""
        with self._lock:
            self._is_shutdown = True
            self.wake()
            for node in self._nodes:
                if node.executor is self:
                    node.executor = None
            self._nodes = []
        return True

    def spin(self) -> None:
        """Run callbacks until shutdown.

        Raises:
            KeyboardInterrupt: after SIGINT.
            ExternalShutdownException: the context was shut down externally, such as by SIGTERM.
        """
        while self._context.ok() and not self._is_shutdown:
            self.spin_once()
        self._raise_if_shut_down_externally()

    def _raise_if_shut_down_externally(self) -> None:
        # A signal during a callback does not interrupt a wait.
        if self._context.shutdown_by_signal is not None:
            raise ExternalShutdownException()

    def spin_once(self, timeout_sec: float | None = None) -> None:
        """Run one callback, with a wait of at most `timeout_sec` (None or negative: no limit)."""
        try:
            work = self._next(timeout_sec)
        except (TimeoutException, ShutdownException):
            return
        self._run(work)

    def spin_until_future_complete(self, future: Future, timeout_sec: float | None = None) -> None:
        """Run callbacks until a future is done, or for `timeout_sec`."""
        future.add_done_callback(lambda _: self.wake())
        deadline = None if timeout_sec is None or timeout_sec < 0 else time.monotonic() + timeout_sec
        while self._context.ok() and not future.done() and not self._is_shutdown:
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                return
            try:
                work = self._next(left, future)
            except (TimeoutException, ShutdownException):
                continue
            self._run(work)

    spin_once_until_future_complete = spin_until_future_complete

    def _run(self, work: Callable[[], Any]) -> None:
        result = work()
        if result is not None and inspect.iscoroutine(result):  # a callback that awaits a future continues later
            task = Task(result, raise_errors=True)
            with self._lock:
                self._tasks.append(task)
            task.step()

    def _next(self, timeout_sec: float | None, future: Future | None = None) -> Callable[[], Any]:
        """Return the next function to run.

        Raises:
            TimeoutException, ShutdownException, ExternalShutdownException: there is none.
        """
        deadline = None if timeout_sec is None or timeout_sec < 0 else time.monotonic_ns() + int(timeout_sec * 1e9)
        while not self._ready:
            if self._is_shutdown:
                raise ShutdownException()
            if not self._context.ok():
                raise ExternalShutdownException()
            if future is not None and future.done():
                raise TimeoutException()
            if self._local and time.monotonic_ns() - self._polled < _POLL_PERIOD:
                return self._local.popleft().run_local
            self._collect(deadline)
            self._polled = time.monotonic_ns()
            if not (self._ready or self._local) and deadline is not None and time.monotonic_ns() >= deadline:
                raise TimeoutException()
        return self._ready.popleft()

    def _collect(self, deadline: int | None) -> None:
        """Wait once and queue ready work: timers first, then entities in the order of their creation."""
        self._is_waiting = True  # set before all checks: a change after a check then wakes the wait
        if self._stale:
            self._rebuild()
        tasks = self._steps()
        wait = 0 if tasks or self._local else self._time_to_wait(deadline)
        keys = self._wait(wait)
        self._is_waiting = False
        if keys and keys[0] == _GUARD_KEY:
            self._set_guard(False)
        self._ready.extend(timer.run for timer in self._timers if timer.is_ready())
        watched = self._watched
        self._ready.extend(watched[key] for key in keys if key in watched)
        self._ready.extend(tasks)
        if self._context.waiting_services:
            waiting = [service for service in self._services if service.has_waiting]
            self._ready.extend(service.send_waiting for service in waiting)

    def _wait(self, nanoseconds: int) -> list[int]:
        """Block until an entity triggers; return the sorted keys of the triggered entities."""
        if self._waitset is None:
            time.sleep(nanoseconds * 1e-9)
            return []
        try:
            return sorted(self._waitset.wait(nanoseconds))
        except DDSException:
            if self._context.ok():
                raise
            return []  # another thread is shutting down the context

    def _steps(self) -> list[Callable[[], Any]]:
        if not self._tasks:
            return []
        with self._lock:
            self._tasks = [task for task in self._tasks if not task.done()]
            return [task.step for task in self._tasks if task.is_ready]

    def _time_to_wait(self, deadline: int | None) -> int:
        wait = int(MATCH_PERIOD * 1e9) if self._context.waiting_services else _SLICE
        for timer in self._timers:
            if timer.clock.is_driven and not timer.is_ready():
                continue  # the message that sets the clock wakes the executor
            left = timer.time_until_next_call()
            if left is not None and left < wait:
                wait = left
        if deadline is not None:
            wait = min(wait, deadline - time.monotonic_ns())
        return max(wait, 0)

    def _rebuild(self) -> None:
        """Update the wait set to the current entities of the nodes."""
        with self._lock:
            self._stale = False
            wanted: dict[int, tuple[Any, Callable[[], Any]]] = {}
            self._timers = []
            self._services = []
            for node in self._nodes:
                self._timers += node.timers
                for subscription in node.subscriptions:
                    subscription.local_queue = self
                self._services += node.services
                for entity, action in node.waitables():
                    wanted[entity._ref] = entity, action
            if self._context.local is not None:
                self._context.local.release()
            if self._waitset is None and self._nodes:
                self._open(self._nodes[0].context)
            if self._waitset is None:
                return
            for reference in [reference for reference in self._keys if reference not in wanted]:
                key = self._keys.pop(reference)
                self._waitset.detach(key)
                del self._watched[key]
            for reference, (entity, action) in wanted.items():
                if reference not in self._keys:
                    self._keys[reference] = self._next_key
                    self._waitset.attach(entity, self._next_key)
                    self._next_key += 1
                self._watched[self._keys[reference]] = action

    def _open(self, context: Context) -> None:
        if context is not self._context:
            raise ValueError('a node and its executor must have the same context')
        self._waitset = dds.WaitSet(context.participant)
        self._guard = GuardCondition(context.participant)
        self._waitset.attach(self._guard, _GUARD_KEY)


#: Alias for compatibility with rclpy: callbacks run one at a time.
MultiThreadedExecutor = SingleThreadedExecutor

_global_executor: SingleThreadedExecutor | None = None


def get_global_executor() -> SingleThreadedExecutor:
    """Return the executor for the functions below."""
    global _global_executor
    if _global_executor is None or _global_executor.context is not get_default_context():
        _global_executor = SingleThreadedExecutor()
    return _global_executor


def spin_once(node: Any, *, executor: SingleThreadedExecutor | None = None, timeout_sec: float | None = None) -> None:
    """Run one callback of a node, with a wait of at most `timeout_sec`."""
    chosen = executor or _executor_of(node)
    try:
        chosen.add_node(node)
        chosen.spin_once(timeout_sec=timeout_sec)
    finally:
        chosen.remove_node(node)


def spin(node: Any, executor: SingleThreadedExecutor | None = None) -> None:
    """Run a node's callbacks until shutdown.

    Raises:
        KeyboardInterrupt: after SIGINT.
        ExternalShutdownException: after SIGTERM.
    """
    chosen = executor or _executor_of(node)
    try:
        chosen.add_node(node)
        while chosen.context.ok():
            chosen.spin_once()
        chosen._raise_if_shut_down_externally()
    finally:
        chosen.remove_node(node)


def spin_until_future_complete(
    node: Any, future: Future, executor: SingleThreadedExecutor | None = None, timeout_sec: float | None = None
) -> None:
    """Run a node's callbacks until a future is done, or for `timeout_sec`."""
    chosen = executor or _executor_of(node)
    try:
        chosen.add_node(node)
        chosen.spin_until_future_complete(future, timeout_sec)
    finally:
        chosen.remove_node(node)


def _executor_of(node: Any) -> SingleThreadedExecutor:
    """Return the global executor, or a new one for a node of another context."""
    if node.context is get_default_context():
        return get_global_executor()
    return SingleThreadedExecutor(context=node.context)
