"""Cockpit of a demonstration: selects a port, checks for a display and opens the browser."""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import webbrowser
from dataclasses import dataclass, field

from dyn_nodes.viewer.access import TOKEN_VARIABLE, Access

HOST = '127.0.0.1'
FIRST_PORT, PORTS = 8080, 50


@dataclass
class DemoCockpit:
    """The page of one run.

    Attributes:
        port: of the page.
        open_browser: whether to open a browser when the page answers.
        taken: the preferred port if it is in use; else 0.
        access: token in the address.
    """

    port: int
    open_browser: bool
    taken: int = 0
    access: Access = field(default_factory=lambda: Access(HOST))
    _answered: bool = field(default=False, repr=False)

    @property
    def address(self) -> str:
        """Address of the page with its token."""
        return self.access.address(self.port)

    @property
    def variables(self) -> dict[str, str]:
        """Environment variables that pass the token to the viewer of this run."""
        return {TOKEN_VARIABLE: self.access.token}

    def open_when_ready(self) -> bool:
        """Return True once, when the page first answers; open the browser then if requested."""
        if self._answered:
            return False
        with socket.socket() as probe:
            probe.settimeout(0.05)
            if probe.connect_ex((HOST, self.port)) != 0:
                return False
        self._answered = True
        if self.open_browser:
            with contextlib.suppress(webbrowser.Error):  # without a browser the printed address remains
                webbrowser.open(self.address)
        return True

    def announcement(self) -> str:
        """Return the line with the address of the page."""
        taken = f' (port {self.taken} is taken)' if self.taken else ''
        opens = ', which opens by itself' if self.open_browser else ': open it in a browser while the run lasts'
        return f'cockpit: {self.address}{taken}{opens}'


def make_cockpit(first: int = FIRST_PORT) -> DemoCockpit | None:
    """Return a cockpit on the first free port from `first`; None if none of `PORTS` ports is free."""
    for port in range(first, first + PORTS):
        if _free(port):
            return DemoCockpit(port, has_display(), first if port != first else 0)
    return None


def has_display() -> bool:
    """Return whether a browser can be shown."""
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
