"""Contexts: DDS participant of a process, its announcement to the ROS graph, init and shutdown."""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any

import numpy as np
from cyclonedds.pub import DataWriter
from cyclonedds.qos import Policy, Qos

from . import dds, logging
from .arguments import Arguments, parse_arguments
from .exceptions import NotInitializedException
from .graph import Graph
from .local import LocalTopics
from .names import DISCOVERY_TOPIC, DISCOVERY_TYPE
from .qos import DurabilityPolicy, QoSProfile, to_dds
from .signals import (
    SignalHandlerOptions,
    install_signal_handlers,
    on_stop,
    release,
    shield,
    uninstall_signal_handlers,
)
from .types import codec, message, type_hash

#: Maximum domain id; larger ids use ports in the ephemeral range of the system.
MAX_DOMAIN_ID = 232


class Context:
    """One participant in the ROS graph, with its nodes."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._ok = False
        self._initialized = False
        self._callbacks: list[Callable[[], Any]] = []
        self._nodes: list[Any] = []
        self._topics: dict[tuple[str, str], Any] = {}
        self._services = 0
        self._graph: Graph | None = None
        self.arguments = Arguments()
        self.shutdown_by_signal: int | None = None
        self.participant: Any = None
        self.domain_id = 0
        self.local: LocalTopics | None = None
        #: Services with responses waiting for their clients.
        self.waiting_services: set[Any] = set()

    def init(
        self, args: Sequence[str] | None = None, *, domain_id: int | None = None, intra_process: bool = False
    ) -> None:
        """Join the ROS graph.

        Args:
            args: command line with `--ros-args`; None: `sys.argv`.
            domain_id: DDS domain; None: ROS_DOMAIN_ID, or 0.
            intra_process: nodes of this context exchange messages without DDS.

        Raises:
            RuntimeError: already initialized, or the domain cannot be opened.
            ValueError: ROS_DOMAIN_ID is not a domain id.
        """
        with self._lock:
            if self._initialized:
                raise RuntimeError('Context.init() must only be called once')
            self.arguments = parse_arguments(args)
            if self.arguments.log_level is not None:
                logging.set_default_level(self.arguments.log_level)
            for name, level in self.arguments.logger_levels.items():
                logging.set_logger_level(name, level)
            logging.set_console(self.arguments.stdout)
            self.domain_id = _domain_id() if domain_id is None else domain_id
            self.local = LocalTopics() if intra_process else None
            qos = Qos(Policy.Userdata(f'enclave={self.arguments.enclave};'.encode()))
            self.participant = dds.open_participant(self.domain_id, qos)
            self._open_discovery()
            self._initialized = self._ok = True
            _contexts.append(self)
            shield()

    def _open_discovery(self) -> None:
        profile = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        topic = self.topic(DISCOVERY_TOPIC, DISCOVERY_TYPE)
        user_data = f'typehash={type_hash(DISCOVERY_TYPE)};'.encode()  # as for all topics; ROS 2's tools require it
        self._discovery = DataWriter(self.participant, topic, to_dds(profile, user_data, writer=True))
        self._discovery_codec = codec(DISCOVERY_TYPE)

    def ok(self) -> bool:
        """Return whether the context is initialized and not stopped."""
        return self._ok

    def check(self) -> None:
        """Raise NotInitializedException before `init` and after `shutdown`.

        After a signal the context remains usable: the interrupted callback may finish its work.
        """
        if self.participant is None:
            raise NotInitializedException()

    def __enter__(self) -> Context:
        if not self._initialized:
            self.init()
        return self

    def __exit__(self, *_: object) -> None:
        self.try_shutdown()

    def topic(self, name: str, type_name: str) -> Any:
        """Return the DDS topic of a name and type, created at the first call."""
        with self._lock:
            key = name, type_name
            if key not in self._topics:
                self._topics[key] = dds.create_topic(self.participant, name, type_name)
            return self._topics[key]

    def next_service_id(self) -> bytes:
        """Return an identity (16 bytes) for a client or a service: prefix of the participant and a counter."""
        with self._lock:
            self._services += 1
            return dds.gid(self.participant)[:12] + self._services.to_bytes(4, 'big')

    @property
    def graph(self) -> Graph:
        """Nodes, topics and services of the domain; discovery is read from the first call on."""
        with self._lock:
            self.check()
            if self._graph is None:
                self._graph = Graph(self)
            return self._graph

    def add_node(self, node: Any) -> None:
        """Announce a node."""
        with self._lock:
            self._nodes.append(node)
        self.announce()

    def remove_node(self, node: Any) -> None:
        """Withdraw a node."""
        with self._lock:
            if node in self._nodes:
                self._nodes.remove(node)
        self.announce()

    def nodes(self) -> list[Any]:
        """Return the nodes of this context."""
        return list(self._nodes)

    def announce(self) -> None:
        """Publish the nodes of this context with their endpoints on `ros_discovery_info`."""
        with self._lock:
            if self.participant is None:
                return
            make_gid = message('rmw_dds_common/msg/Gid')
            make_node = message('rmw_dds_common/msg/NodeEntitiesInfo')

            def gids(items: Any) -> list[Any]:
                return [make_gid(data=np.frombuffer(item, np.uint8)) for item in items]

            nodes = [
                make_node(
                    node_namespace=node.get_namespace(),
                    node_name=node.get_name(),
                    reader_gid_seq=gids(node.reader_gids()),
                    writer_gid_seq=gids(node.writer_gids()),
                )
                for node in self._nodes
            ]
            info = message(DISCOVERY_TYPE)(gid=gids([dds.gid(self.participant)])[0], node_entities_info_seq=nodes)
            self._discovery.write(dds.make_sample(self._discovery.data_type, self._discovery_codec.encode(info)))

    def on_shutdown(self, callback: Callable[[], Any]) -> None:
        """Call `callback` when the context is shut down."""
        with self._lock:
            self._callbacks.append(callback)

    def stop(self, by_signal: int | None = None) -> None:
        """Stop the executors, as after a signal. The nodes exist until `shutdown`."""
        self.shutdown_by_signal = by_signal
        self._ok = False
        callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback()

    def shutdown(self) -> None:
        """Leave the ROS graph: stop executors, destroy nodes and participant.

        Raises:
            NotInitializedException: `init` was never called.
        """
        if not self._initialized:
            raise NotInitializedException()
        self.try_shutdown()

    def try_shutdown(self) -> None:
        """Shut down like `shutdown`, unless already done."""
        if self._ok:
            self.stop()
        with self._lock:
            if self.participant is None:
                return
            for node in list(self._nodes):
                node.destroy_node()
            if self._graph is not None:
                self._graph.close()
            participant, self.participant = self.participant, None
            self._topics.clear()
            dds.delete_participant(participant)
            if self in _contexts:
                _contexts.remove(self)
            release(shields=not _contexts)

    def get_domain_id(self) -> int:
        """Return the DDS domain."""
        return self.domain_id


_contexts: list[Context] = []
_default = Context()
_default_lock = threading.RLock()


def _domain_id() -> int:
    text = os.environ.get('ROS_DOMAIN_ID', '').strip() or '0'
    if not text.isdigit() or int(text) > MAX_DOMAIN_ID:
        raise ValueError(f'ROS_DOMAIN_ID: expected a number from 0 to {MAX_DOMAIN_ID}, found {text!r}')
    return int(text)


def get_default_context(*, shutting_down: bool = False) -> Context:
    """Return the default context."""
    return _default


def _renew_default() -> None:
    """Replace the default context after a shutdown: a context can be initialized only once."""
    global _default
    with _default_lock:
        _default = Context()


def _stop_all(number: int) -> None:
    for context in list(_contexts):
        if context.ok():
            context.stop(number)


on_stop(_stop_all)


class InitContextManager:
    """Result of `init`: a context manager that shuts down at its end."""

    def __init__(self, context: Context, handlers: bool) -> None:
        self.context = context
        self.installed_signal_handlers = handlers

    def __enter__(self) -> InitContextManager:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        try_shutdown(context=self.context, uninstall_handlers=self.installed_signal_handlers)


def init(
    *,
    args: Sequence[str] | None = None,
    context: Context | None = None,
    domain_id: int | None = None,
    signal_handler_options: SignalHandlerOptions | None = None,
    intra_process: bool = False,
) -> InitContextManager:
    """Join the ROS graph; see rclpy.init.

    Args:
        args: command line; None: `sys.argv`.
        context: None: the default context, for which SIGINT and SIGTERM are handled.
        domain_id: DDS domain; None: ROS_DOMAIN_ID.
        signal_handler_options: signals to handle.
        intra_process: nodes of this context exchange messages without DDS.
    """
    chosen = context or get_default_context()
    if signal_handler_options is None:
        is_default = chosen is get_default_context()
        signal_handler_options = SignalHandlerOptions.ALL if is_default else SignalHandlerOptions.NO
    chosen.init(args, domain_id=domain_id, intra_process=intra_process)
    install_signal_handlers(signal_handler_options)
    return InitContextManager(chosen, signal_handler_options != SignalHandlerOptions.NO)


def ok(*, context: Context | None = None) -> bool:
    """Return whether the context is initialized and not shut down."""
    return (context or get_default_context()).ok()


def _finish(context: Context, uninstall: bool | None) -> None:
    is_default = context is get_default_context()
    context.try_shutdown()
    if is_default:
        _renew_default()
    if uninstall or (uninstall is None and is_default):
        uninstall_signal_handlers()


def shutdown(*, context: Context | None = None, uninstall_handlers: bool | None = None) -> None:
    """Leave the ROS graph.

    Raises:
        NotInitializedException: the context was never initialized.
    """
    chosen = context or get_default_context()
    if not chosen._initialized:
        raise NotInitializedException()
    _finish(chosen, uninstall_handlers)


def try_shutdown(*, context: Context | None = None, uninstall_handlers: bool | None = None) -> None:
    """Leave the ROS graph unless already done."""
    chosen = context or get_default_context()
    if chosen._initialized:
        _finish(chosen, uninstall_handlers)


@atexit.register
def _at_exit() -> None:
    """Leave DDS at exit, so that other participants do not have to wait for the end of a lease."""
    for context in list(_contexts):
        context.try_shutdown()
    dds.close_domains()
