"""Selects a free DDS domain on this computer, so that two demonstrations do not receive each other's messages."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from dyn_nodes.commands import CommandError

# DDS ports (RTPS 2.2, section 9.6.1.1): discovery by multicast, then by unicast, two ports per participant
PORT_BASE, DOMAIN_GAIN = 7400, 250
DISCOVERY_OFFSETS = (0, *range(10, 30, 2))
LAST_DOMAIN = 101  # ports of higher domains are ephemeral ports of Linux


def choose_domain(environment: Mapping[str, str] = os.environ) -> int:
    """Return the user's `ROS_DOMAIN_ID`, or the first domain from 0 without a participant on this computer."""
    wanted = environment.get('ROS_DOMAIN_ID', '')
    if wanted.isdigit():
        return int(wanted)
    return next((domain for domain in range(LAST_DOMAIN + 1) if not is_used(domain)), 0)


@contextmanager
def claimed_domain(environment: Mapping[str, str] = os.environ) -> Iterator[int]:
    """Yield the domain of `choose_domain`; in the context no other process chooses it.

    The claim holds a port of the domain's tenth participant; participants are numbered from the first.
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
    """Raise an error if a machine runs in a domain, because its topics would mix with the topics of a new run.

    Args:
        domain: of DDS.
        seconds: wall time for discovery if the domain is in use on this computer.

    Raises:
        CommandError: nodes publish `joint_states`; the message lists them.
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
            'stop it, or set another ROS_DOMAIN_ID (by default the next free domain is used)'
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
    """Return a socket bound to a port; None if the port is in use."""
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        made.bind(('', port))
    except OSError:
        made.close()
        return None
    return made
