"""Access rights of requests to a page: checks of Host, Origin and token, independent of the server.

A page of another server, opened in a browser on the same computer, can send requests to this one. The check of Host
excludes DNS rebinding: names of other owners that resolve to this computer. The check of Origin excludes scripts of
other pages. The token is part of the printed address only and excludes all programs without it.
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
"""Minimum number of characters of a token; shorter tokens can be guessed."""


def new_token() -> str:
    """Return the token in the environment variable `DYN_NODES_PAGE_TOKEN`, else a new random token.

    Raises:
        ValueError: the token is too short, or has other characters than letters, digits, - and _.
    """
    token = os.environ.get(TOKEN_VARIABLE)
    if token is None:
        return secrets.token_urlsafe(LEAST_LENGTH)
    if len(token) < LEAST_LENGTH or not all(c.isascii() and (c.isalnum() or c in '-_') for c in token):
        raise ValueError(f'{TOKEN_VARIABLE}: expected at least {LEAST_LENGTH} letters, digits, - or _')
    return token


@dataclass(frozen=True)
class Access:
    """Access rights of requests to a page.

    Attributes:
        host: address on which the page listens.
        token: token that grants the right to operate the page.
    """

    host: str
    token: str = field(default_factory=new_token, repr=False)

    def address(self, port: int) -> str:
        """Return the address of the page with its token."""
        shown = (
            'localhost' if self.host in ('0.0.0.0', '::', '') else f'[{self.host}]' if ':' in self.host else self.host
        )
        return f'http://{shown}:{port}/?token={self.token}'

    def host_error(self, hosts: Sequence[str]) -> str:
        """Return the reason to reject a request with these Host headers; '' if they are valid."""
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
            names = {self.host.lower(), *(() if self._is_loopback else (socket.gethostname().lower(),))}
            return '' if name in names else 'Host: expected an address of this computer, found another name'
        if self._is_loopback and not address.is_loopback:
            return 'Host: expected an address of the loopback interface'
        return ''

    @property
    def _is_loopback(self) -> bool:
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == 'localhost'

    def origin_error(self, origins: Sequence[str], host: str) -> str:
        """Return the reason to reject a websocket with these Origin headers; '' for a page of this server."""
        if len(origins) != 1:
            return f'expected one Origin header, found {len(origins)}'
        accepted = {f'{scheme}://{host}'.lower() for scheme in ('http', 'https')}
        return '' if origins[0].lower() in accepted else 'Origin: expected a page of this server'

    def right_of(self, path: str) -> bool | None:
        """Return True if the path of a request contains the token, False for no token, None for a wrong token."""
        tokens = parse_qs(urlsplit(path).query, keep_blank_values=True).get('token', [])
        if not tokens:
            return False
        if len(tokens) == 1 and hmac.compare_digest(tokens[0].encode(), self.token.encode()):
            return True
        return None


def _name_of(host: str) -> str | None:
    """Return the name or address of a Host header in lower case; None if it is invalid."""
    try:
        parts = urlsplit(f'//{host}')
        _ = parts.port
    except ValueError:
        return None
    plain = parts.netloc == host and not parts.path and '@' not in host and parts.hostname
    return parts.hostname if plain else None
