"""An executor for rclpy with a fraction of the cost of rclpy's: no task, no coroutine, no wake-up for a plain callback.

rclpy's SingleThreadedExecutor collects all entities for every wait, among them two QoS events for each publisher and
subscription (142 for the three nodes of a hydraulic machine), runs each callback as a task, and wakes itself up twice a
callback. Here the entities are collected when they have changed, plain callbacks of subscriptions and timers are called
directly, and QoS events, which only warn and count, are polled every `EVENTS_PERIOD`. Everything else (services,
clients, coroutines, guard conditions) runs as in rclpy, by the methods of the base class.

These methods are not public. `EXECUTOR` is this class if rclpy has them (Jazzy, Kilted), and rclpy's own otherwise.
"""

from __future__ import annotations

import atexit
import contextlib
import inspect
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import rclpy.executors
from rclpy.executors import ExternalShutdownException
from rclpy.executors import SingleThreadedExecutor as _Base
from rclpy.signals import uninstall_signal_handlers

from dyn_nodes.common.arrays import Indices
from dyn_nodes.middleware.hand_over import LocalTopics, take, takes_info

Item = tuple[str, Any, Any]
"""Kind of an entity, the entity, its node."""
COUNTED = ('subscription', 'guard', 'timer', 'client', 'service')
"""Kinds of entities, in the order in which a wait set takes their counts."""
_NAMES = {'guard': 'guard_condition'}
EVENTS_PERIOD = 0.2
"""Wall time between two polls of QoS events, s."""
LONGEST_TURN = 0.005
"""Wall time after which timers, services and the wire are served while nodes exchange messages without a break, s."""


def is_supported() -> bool:
    """Return whether rclpy's executor has the methods and attributes that `LeanExecutor` uses."""
    base = rclpy.executors
    try:
        names = {*base.Executor.__init__.__code__.co_names}
        handler = [*inspect.signature(base.Executor._make_handler).parameters]
        timer = inspect.signature(base.Executor._take_timer).parameters
        spin = [*inspect.signature(_Base._spin_once_impl).parameters]
    except AttributeError:
        return False
    wanted = {'_tasks', '_tasks_lock', '_guard', '_sigint_gc', '_is_shutdown', '_nodes_lock'}
    return (
        wanted <= names
        and handler == ['self', 'entity', 'node', 'take_from_wait_list']
        and spin == ['self', 'timeout_sec', 'wait_condition']
        and len(timer) == 2
        and all(hasattr(base, name) for name in ('_rclpy', 'InvalidHandle', 'TimeoutObject'))
        and hasattr(base._rclpy.Timer, 'call_timer')
    )


def takes_timer_info(callback: Callable[..., Any]) -> bool:
    """Return whether a callback of a timer has a parameter for rclpy's `TimerInfo` (Kilted and later)."""
    kind = getattr(getattr(rclpy, 'timer', None), 'TimerInfo', None)
    if kind is None:
        return False
    parameters = inspect.signature(callback).parameters.values()
    return any(parameter.annotation == kind for parameter in parameters)


def _counts(waitable: Any) -> Indices:
    """Return the numbers of entities (6,) of a waitable, by the kinds of `COUNTED`, and its events."""
    numbers = waitable.get_num_entities()
    kinds = ('subscriptions', 'guard_conditions', 'timers', 'clients', 'services', 'events')
    return np.array([getattr(numbers, f'num_{kind}') for kind in kinds])


class _Entities:
    """All entities of an executor's nodes, and their wait sets.

    None of them is destroyed before `close`: acquiring and releasing each for every wait would cost as much as the
    wait.

    Attributes:
        items: timers, subscriptions, guard conditions, clients and services.
        events: QoS events.
        waitables: servers and clients of actions, each with its node.
        timers_with_info: ids of the timers whose callback takes a `TimerInfo`; rclpy's own code calls these.
    """

    def __init__(self, executor: LeanExecutor) -> None:
        self._held: list[Any] = []
        self._lock, self._is_busy, self._is_closed = threading.Lock(), False, False
        self.items: list[Item] = []
        self.events: list[Any] = []
        self.event_nodes: dict[int, Any] = {}
        waitables: list[tuple[Any, Any]] = []
        for node in executor.get_nodes():
            for kind in ('timer', 'subscription', 'guard', 'client', 'service'):
                self.items += [(kind, entity, node) for entity in getattr(node, f'{kind}s')]
            for waitable in node.waitables:
                if type(waitable).__name__ == 'EventHandler':
                    self.events.append(waitable)
                    self.event_nodes[id(waitable)] = node
                else:
                    waitables.append((waitable, node))
        self.timers_with_info = {
            id(entity) for kind, entity, _ in self.items if kind == 'timer' and takes_timer_info(entity.callback)
        }
        self.waitables = [(waitable, node) for waitable, node in waitables if self._hold(waitable)]
        self._context = executor.context.handle
        guards = [executor._guard, executor._sigint_gc]
        kinds = [kind for kind, _, _ in self.items] + ['guard'] * len(guards)
        plain = np.array([*(kinds.count(kind) for kind in COUNTED), 0])
        self._waiting = self._wait_set(sum((_counts(waitable) for waitable, _ in self.waitables), plain))
        self._polled = self._wait_set([0] * len(COUNTED) + [len(self.events)])
        self._kinds = [kind for kind in COUNTED if kind in kinds]
        adding = {kind: getattr(self._waiting, f'add_{_NAMES.get(kind, kind)}') for kind in COUNTED}
        entities = [entity for _, entity, _ in self.items] + guards
        self._rows = [
            (adding[kind], entity.handle, entity) for kind, entity in zip(kinds, entities) if self._hold(entity.handle)
        ]
        self.events = [event for event in self.events if self._hold(event)]
        self._indices = {(kind, entity.handle.pointer): index for index, (kind, entity, _) in enumerate(self.items)}

    def _wait_set(self, counts: Iterable[int]) -> Any:
        """Return a wait set for numbers of entities of each kind of `COUNTED` and of events."""
        return rclpy.executors._rclpy.WaitSet(*map(int, counts), self._context)

    def _hold(self, handle: Any) -> bool:
        """Keep an entity from being destroyed; return False if it has been."""
        try:
            handle.__enter__()
        except rclpy.executors.InvalidHandle:
            return False
        self._held.append(handle)
        return True

    def close(self) -> None:
        """Allow the entities to be destroyed, after the wait if another thread waits for them."""
        with self._lock:
            self._is_closed = True
            held, self._held = ([], self._held) if self._is_busy else (self._held, [])
        for handle in held:
            handle.__exit__(None, None, None)

    def __del__(self) -> None:
        self.close()

    @contextlib.contextmanager
    def _used(self) -> Iterator[bool]:
        """Yield whether the entities may be used, and keep them meanwhile."""
        with self._lock:
            self._is_busy = not self._is_closed
        try:
            yield self._is_busy
        finally:
            with self._lock:
                self._is_busy = False
            if self._is_closed:
                self.close()

    def wait(self, nanoseconds: int, is_free: Callable[[Any], bool] | None) -> list[Item]:
        """Wait; return the ready entities.

        Args:
            nanoseconds: the longest time.
            is_free: selects the entities to wait for; None: all.
        """
        wait_set = self._waiting
        with self._used() as may_wait:
            if not may_wait:
                return []
            wait_set.clear_entities()
            for add, handle, entity in self._rows:
                if is_free is None or entity.callback_group is None or is_free(entity):
                    add(handle)
            added = [item for item in self.waitables if is_free is None or is_free(item[0])]
            for waitable, _ in added:
                waitable.add_to_wait_set(wait_set)
            with self._context:
                wait_set.wait(nanoseconds)
                ready = [(kind, pointer) for kind in self._kinds for pointer in self._ready(kind)]
                others = [('waitable', waitable, node) for waitable, node in added if waitable.is_ready(wait_set)]
        indices = sorted(self._indices[key] for key in ready if key in self._indices)
        return [*(self.items[index] for index in indices), *others]

    def _ready(self, kind: str) -> Any:
        return self._waiting.get_ready_entities(_NAMES.get(kind, kind))

    def poll_events(self) -> list[Any]:
        """Return the QoS events that have happened."""
        with self._used() as may_poll:
            if not may_poll or not self.events:
                return []
            self._polled.clear_entities()
            for event in self.events:
                event.add_to_wait_set(self._polled)
            with self._context:
                self._polled.wait(0)
            return [event for event in self.events if event.is_ready(self._polled)]


class _SignalGuards:
    """The guard conditions by which signals wake executors, kept until no signal can reach them.

    A thread of rclpy triggers them after SIGINT and SIGTERM. It holds no lock: if the executor that the signal has
    ended destroys its own meanwhile, the thread reads freed memory, and on a busy computer a node that was ended with
    Ctrl-C crashed. The thread ends with the signal handlers, at the exit of the interpreter.
    """

    def __init__(self) -> None:
        self._kept: list[Any] = []
        atexit.register(self.destroy)

    def keep(self, executor: Any) -> None:
        """Take over the guard condition of an executor that ends."""
        guard = getattr(executor, '_sigint_gc', None)
        if guard is not None:
            executor._sigint_gc = None
            self._kept.append(guard)

    def destroy(self) -> None:
        """End the thread that triggers them, then destroy them."""
        uninstall_signal_handlers()
        for guard in self._kept:
            with contextlib.suppress(rclpy.executors.InvalidHandle):  # destroyed by its context
                guard.destroy()
        self._kept.clear()


class LeanExecutor(_Base):
    """Calls back in the thread that spins."""

    _tasks: list[Any]
    _signal_guards = _SignalGuards()

    def __init__(self, *, context: Any = None) -> None:
        self._entities: _Entities | None = None
        self._timers_with_info: set[int] = set()
        self._version = self._gathered_version = 0  # other threads make and destroy entities, too
        self._ready: deque[tuple[str, Any, Any]] = deque()
        self._events_at = self._waited_at = 0.0
        self._is_local_next = self._are_tasks_due = False
        super().__init__(context=context)
        self._local = LocalTopics.of(self._context)

    # -- entities come and go ----------------------------------------------------------------------------------------

    def wake(self) -> None:
        """End the present wait: an entity has been created or destroyed, or there is a task."""
        self._version += 1
        super().wake()

    def interrupt(self) -> None:
        """End the present wait: a node of this process has published."""
        super().wake()

    def add_node(self, node: Any) -> bool:
        """Add a node; return whether it is new."""
        is_new = bool(super().add_node(node))
        self._version += 1
        return is_new

    def remove_node(self, node: Any) -> None:
        """Remove a node."""
        super().remove_node(node)
        self._version += 1
        self.release()
        self._ready = deque(item for item in self._ready if item[2] is not node)

    def shutdown(self, timeout_sec: float | None = None) -> bool:
        """Stop."""
        self.release()
        self._ready.clear()
        self._signal_guards.keep(self)
        return bool(super().shutdown(timeout_sec))

    def __del__(self) -> None:
        self._signal_guards.keep(self)

    def release(self) -> None:
        """Allow the entities to be destroyed; they are collected again before the next wait."""
        entities, self._entities = self._entities, None
        if entities is not None:
            entities.close()

    # -- spinning ----------------------------------------------------------------------------------------------------

    def _spin_once_impl(self, timeout_sec: Any = None, wait_condition: Callable[[], bool] = lambda: False) -> None:
        limit = timeout_sec.timeout if isinstance(timeout_sec, rclpy.executors.TimeoutObject) else timeout_sec
        end = np.inf if limit is None or limit < 0.0 else time.monotonic() + limit
        is_first = True
        while not self._is_shutdown and not wait_condition():
            self._gathered()
            now = time.monotonic()
            if now - self._events_at >= EVENTS_PERIOD:
                self._poll_events(now)
            if self._run_due_tasks() or self._run_ready() or self._run_local(now) or self._run_tasks():
                return
            if now >= end and not is_first:
                return
            is_first = False
            self._wait(max(min(end, self._events_at + EVENTS_PERIOD) - now, 0.0))

    def _gathered(self) -> _Entities:
        if self._entities is None or self._gathered_version != self._version:
            if not self._context.ok():
                raise ExternalShutdownException
            self.release()
            self._gathered_version = self._version  # before: later entities are collected next time
            self._entities = _Entities(self)
            self._timers_with_info = self._entities.timers_with_info
        return self._entities

    def _wait(self, seconds: float) -> None:
        """Wait for entities, and append the ready ones to the queue. Raises ExternalShutdownException."""
        self._ready.extend(self._gathered().wait(int(1e9 * seconds), self.can_execute if self._tasks else None))
        self._waited_at = time.monotonic()
        self._are_tasks_due = True
        if not self._is_shutdown and not self._context.ok():
            raise ExternalShutdownException

    def _poll_events(self, now: float) -> None:
        self._events_at = now
        entities = self._gathered()
        for event in entities.poll_events():
            self._run_task(event, entities.event_nodes[id(event)], self._take_waitable)

    def _run_local(self, now: float) -> bool:
        """Call back with the next message from a node of this process; the others come first at intervals, once."""
        if not self._local.waiting:
            return False
        if now - self._waited_at > LONGEST_TURN and not self._is_local_next:
            self._is_local_next = True  # also if callbacks of timers take longer than their periods
            self._wait(0.0)
            if self._run_ready():
                return True
        self._is_local_next = False
        return self._local.run_next(self)

    def _run_ready(self) -> bool:
        while self._ready:
            kind, entity, node = self._ready.popleft()
            if self.can_execute(entity) and self._run(kind, entity, node):
                return True
        return False

    def _run(self, kind: str, entity: Any, node: Any) -> bool:
        try:
            is_plain = kind in ('timer', 'subscription') and not inspect.iscoroutinefunction(entity.callback)
            if not is_plain or id(entity) in self._timers_with_info:
                self._run_task(entity, node, getattr(self, f'_take_{"guard_condition" if kind == "guard" else kind}'))
            elif kind == 'timer':
                return self._run_timer(entity)
            else:
                return self._run_subscription(entity)
        except rclpy.executors.InvalidHandle:  # destroyed by a callback since the wait
            return False
        return True

    @staticmethod
    def _run_timer(timer: Any) -> bool:
        with timer.handle:
            if not timer.handle.is_timer_ready():
                return False
            timer.handle.call_timer()
        timer.callback()
        return True

    @staticmethod
    def _run_subscription(subscription: Any) -> bool:
        taken = take(subscription)
        if taken is None:
            return False
        subscription.callback(*(taken if takes_info(subscription) else taken[:1]))
        return True

    def _run_task(self, entity: Any, node: Any, take: Callable[[Any], Any]) -> None:
        """Run a callback as rclpy does: it may be a coroutine, which continues later if it awaits something."""
        if hasattr(entity, '_executor_triggered'):  # a guard condition: rclpy takes only those that it has marked
            entity._executor_triggered = True
        self._finish(self._make_handler(entity, node, take))

    def _run_due_tasks(self) -> bool:
        """Continue unfinished tasks once after each wait, before callbacks that may never leave them a turn."""
        is_due, self._are_tasks_due = self._are_tasks_due, False
        return is_due and self._run_tasks()

    def _run_tasks(self) -> bool:
        """Continue unfinished tasks; return whether one has finished."""
        if not self._tasks:
            return False
        with self._tasks_lock:
            begun = [task for task, _, _ in self._tasks]
        for task in begun:
            self._finish(task)
        return any(task.done() for task in begun)

    def _finish(self, task: Any) -> None:
        task()
        with self._tasks_lock:
            self._tasks = [item for item in self._tasks if not (item[0].done() or item[0].cancelled())]
        if task.exception() is not None:
            raise task.exception()


EXECUTOR: Any = LeanExecutor if is_supported() else _Base
