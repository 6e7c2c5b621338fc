"""Who may look at a page and who may work on it: decisions on Host, Origin and token, free of any server.

A page of another server, opened in the browser of the same computer, can send requests to this one. Host keeps out
names that another server's owner points at this computer (DNS rebinding); Origin keeps out the scripts of other pages;
the token, which only the printed address carries, keeps out every program that was not given it.
"""

from __future__ import annotations

import hmac
import ipaddress
import os
import secrets
import socket
from collections.abc import Sequence
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlsplit

TOKEN_VARIABLE = 'DYN_NODES_PAGE_TOKEN'
LEAST_LENGTH = 16
"""Characters of a token; shorter ones can be guessed."""


def new_token() -> str:
    """Return the token of `DYN_NODES_PAGE_TOKEN`, where a parent process chose one, else a new random one.

    Raises:
        ValueError: the variable is too short, or has other characters than letters, digits, - and _.
    """
    given = os.environ.get(TOKEN_VARIABLE)
    if given is None:
        return secrets.token_urlsafe(LEAST_LENGTH)
    if len(given) < LEAST_LENGTH or not all(c.isascii() and (c.isalnum() or c in '-_') for c in given):
        raise ValueError(f'{TOKEN_VARIABLE}: expected {LEAST_LENGTH} letters, digits, - or _ at least')
    return given


@dataclass(frozen=True)
class Access:
    """What a request may do.

    Attributes:
        host: address that the page listens on.
        token: that gives the right to work on the page.
    """

    host: str
    token: str = field(default_factory=new_token, repr=False)

    def address(self, port: int) -> str:
        """Return the address of the page with the right to work on it."""
        shown = (
            'localhost' if self.host in ('0.0.0.0', '::', '') else f'[{self.host}]' if ':' in self.host else self.host
        )
        return f'http://{shown}:{port}/?token={self.token}'

    def refusal_of_host(self, hosts: Sequence[str]) -> str:
        """Return why a request with these Host headers is refused, '' where it is not."""
        if len(hosts) != 1:
            return f'expected one Host header, found {len(hosts)}'
        name = _name_of(hosts[0])
        if name is None:
            return 'Host: expected a name or an address, and a port'
        if name == 'localhost':
            return ''
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            own = {self.host.lower(), *(() if self._is_loopback else (socket.gethostname().lower(),))}
            return '' if name in own else 'Host: expected an address of this computer, found another name'
        if self._is_loopback and not address.is_loopback:
            return 'Host: expected an address of the loopback interface'
        return ''

    @property
    def _is_loopback(self) -> bool:
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == 'localhost'

    def refusal_of_origin(self, origins: Sequence[str], host: str) -> str:
        """Return why a websocket with these Origin headers is refused, '' where it comes from a page of this server."""
        if len(origins) != 1:
            return f'expected one Origin header, found {len(origins)}'
        own = {f'{scheme}://{host}'.lower() for scheme in ('http', 'https')}
        return '' if origins[0].lower() in own else 'Origin: expected a page of this server'

    def right_of(self, path: str) -> bool | None:
        """Return whether the path of a request carries the token (True), none (False), or a wrong one (None)."""
        found = parse_qs(urlsplit(path).query, keep_blank_values=True).get('token', [])
        if not found:
            return False
        if len(found) == 1 and hmac.compare_digest(found[0].encode(), self.token.encode()):
            return True
        return None


def _name_of(host: str) -> str | None:
    """Return the name or address of a Host header in lower case, None where it is not one."""
    try:
        parts = urlsplit(f'//{host}')
        _ = parts.port
    except ValueError:
        return None
    plain = parts.netloc == host and not parts.path and '@' not in host and parts.hostname
    return parts.hostname if plain else None
