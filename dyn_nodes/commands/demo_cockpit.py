"""The cockpit of a demonstration: which port, whether there is a display, and the browser once the page is there."""

from __future__ import annotations

import os
import socket
import sys
import webbrowser
from dataclasses import dataclass, field

HOST = '127.0.0.1'
FIRST_PORT, PORTS = 8080, 50
VIEWER = 'viewer_node'


@dataclass
class DemoCockpit:
    """The page of one run.

    Attributes:
        port: that it listens on.
        open_browser: once the page answers.
        taken: the first choice, where something else listens there; else 0.
    """

    port: int
    open_browser: bool
    taken: int = 0
    _opened: bool = field(default=False, repr=False)

    @property
    def address(self) -> str:
        """What to type into a browser."""
        return f'http://{HOST}:{self.port}'

    def look(self) -> None:
        """Open the browser as soon as the page answers; do nothing where that is done or not wanted."""
        if not self.open_browser or self._opened:
            return
        with socket.socket() as probe:
            probe.settimeout(0.05)
            if probe.connect_ex((HOST, self.port)) != 0:
                return
        self._opened = True
        try:
            webbrowser.open(self.address)
        except webbrowser.Error:  # no browser after all: the address was printed
            return


def make_cockpit(first: int = FIRST_PORT) -> DemoCockpit | None:
    """Return a cockpit on the first free port from `first` on; None where none of fifty is free."""
    for port in range(first, first + PORTS):
        if _free(port):
            return DemoCockpit(port, has_display(), first if port != first else 0)
    return None


def has_display() -> bool:
    """Whether a browser could be shown here."""
    if sys.platform in ('darwin', 'win32'):
        return 'SSH_CONNECTION' not in os.environ
    return bool(os.environ.get('DISPLAY') or os.environ.get('WAYLAND_DISPLAY'))


def _free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True
