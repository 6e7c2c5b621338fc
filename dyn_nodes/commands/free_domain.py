"""A free DDS domain on this machine, so that two demonstrations do not receive each other's messages."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from dyn_nodes.commands import CommandError

# the port plan of DDS (RTPS 2.2, section 9.6.1.1): discovery by multicast, then by unicast, two ports a participant
PORT_BASE, DOMAIN_GAIN = 7400, 250
DISCOVERY_OFFSETS = (0, *range(10, 30, 2))
LAST_DOMAIN = 101  # domains above reach into Linux's ephemeral ports


def choose_domain(environment: Mapping[str, str] = os.environ) -> int:
    """Return the user's `ROS_DOMAIN_ID`, or else the first domain from 0 that has no participant on this machine."""
    wanted = environment.get('ROS_DOMAIN_ID', '')
    if wanted.isdigit():
        return int(wanted)
    return next((domain for domain in range(LAST_DOMAIN + 1) if not is_used(domain)), 0)


@contextmanager
def claimed_domain(environment: Mapping[str, str] = os.environ) -> Iterator[int]:
    """Give the domain of `choose_domain`, and keep others from choosing it until a participant is there.

    A port of the domain's tenth participant is held meanwhile; participants count from the first.
    """
    wanted = environment.get('ROS_DOMAIN_ID', '')
    if wanted.isdigit():
        yield int(wanted)
        return
    for domain in range(LAST_DOMAIN + 1):
        claim = None if is_used(domain) else _bound(PORT_BASE + DOMAIN_GAIN * domain + DISCOVERY_OFFSETS[-1])
        if claim is not None:
            with claim:
                yield domain
            return
    yield 0


def require_no_machine(domain: int, seconds: float = 1.0) -> None:
    """Demand that no machine runs in a domain, whose topics a run there would be mixed with.

    Args:
        domain: of DDS.
        seconds: wall time to look for one, where the domain is used on this computer.

    Raises:
        CommandError: something publishes `joint_states`; the message names the nodes.
    """
    if not is_used(domain):
        return
    from dyn_nodes.middleware import Context, Node, init
    from dyn_nodes.nodes.neighbours import TOPIC, sources_of

    context = Context()
    init(args=[], context=context, domain_id=domain)
    try:
        node = Node('look_around', context=context, enable_rosout=False, start_parameter_services=False)
        until = time.monotonic() + seconds
        sources: list[str] = []
        while not sources and time.monotonic() < until:
            time.sleep(0.05)
            sources = sources_of(node, f'/{TOPIC}')
        node.destroy_node()
    finally:
        context.try_shutdown()
    if sources:
        raise CommandError(
            f'a machine runs in domain {domain} already: {", ".join(sources)} publishes {TOPIC}; '
            'stop it, or choose another ROS_DOMAIN_ID (unset, the next free one is taken)'
        )


def is_used(domain: int) -> bool:
    """Return whether a discovery port of one of a domain's first ten participants is taken."""
    port = PORT_BASE + DOMAIN_GAIN * domain
    return not all(_is_free(port + offset) for offset in DISCOVERY_OFFSETS)


def _is_free(port: int) -> bool:
    probe = _bound(port)
    if probe is not None:
        probe.close()
    return probe is not None


def _bound(port: int) -> socket.socket | None:
    """Return a socket that has a port; None where it is taken."""
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        made.bind(('', port))
    except OSError:
        made.close()
        return None
    return made
