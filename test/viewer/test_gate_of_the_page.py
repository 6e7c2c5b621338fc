"""Only pages with the printed address can drive: attacks on a real server, over real sockets."""

from __future__ import annotations

import asyncio
import collections
import contextlib
import http.client
import os
import subprocess
import sys
from pathlib import Path

import pytest
from timeouts import scaled_timeout

pytest.importorskip('viser', reason='the viewer needs viser')
import msgspec.msgpack
import viser
from websocket_page import BEAT_MESSAGE, CAMERA, Page, until, update
from websockets.exceptions import ConnectionClosed, InvalidStatus

from dyn_nodes.viewer.access import Access, new_token
from dyn_nodes.viewer.cockpit import Cockpit
from dyn_nodes.viewer.gate import MOST_PAGES, Gate
from dyn_nodes.viewer.page_script import BEAT
from dyn_nodes.viewer.player import Player
from dyn_nodes.viewer.viser_internals import AnyThreadEvent

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope='module')
def cockpit():
    made = Cockpit('127.0.0.1', 0, 'test', beat_timeout=5.0)
    made.controls.set_valves(('boom',), {'boom': 8.0})
    yield made
    made.stop()


TWO_TOKENS = [
    '{0}&token={0}', '{0}&token=wrong', 'wrong&token={0}', '{0}&token=', '&token={0}', '{0}&other=1&token={0}',
    '{0}&%74oken={0}',
]  # fmt: skip
"""Ends of queries after `token=`; {0} is the token of the page."""


def actions(cockpit):
    return [action.name for action in cockpit.actions()]


def status_of(attempt) -> int:
    with pytest.raises(InvalidStatus) as rejected, attempt():
        pass
    return rejected.value.response.status_code


# -- websockets --------------------------------------------------------------------------------------------------------


def test_page_with_the_token_drives(cockpit):
    with Page(cockpit) as page:
        number = page.join()
        assert number not in cockpit.drivers, 'it has not answered yet'
        page.send(BEAT_MESSAGE)
        until(lambda: number in cockpit.drivers)
        page.arm()
        done = until(lambda: list(cockpit.actions()))
        assert [(action.name, action.value, action.client) for action in done] == [('drive', True, number)]
        page.send(update(cockpit.controls.armed, False))
        until(lambda: not cockpit.controls.armed.value)
        actions(cockpit)


@pytest.mark.parametrize(
    'origin', ['http://evil.example', 'null', 'http://127.0.0.1:1', 'http://localhost.evil.example', 'file://']
)
@pytest.mark.parametrize('token', ['right', 'none'])
def test_page_of_another_origin_gets_no_connection(cockpit, origin, token):
    assert status_of(lambda: Page(cockpit, token, origin)) == 403


def test_connection_without_an_origin_is_rejected(cockpit):
    assert status_of(lambda: Page(cockpit, origin=None)) == 403


@pytest.mark.parametrize('query', ['wrong', '', 'x' * 5_000, '%00', *TWO_TOKENS])
def test_wrong_token_is_rejected(cockpit, query):
    assert status_of(lambda: Page(cockpit, path=f'/?token={query.format(cockpit.gate.access.token)}')) == 403


@pytest.mark.parametrize('part', ['header', 'cookie', 'subprotocol', 'path', 'fragment of the query'])
def test_token_elsewhere_gives_no_right_to_drive(cockpit, part):
    token = cockpit.gate.access.token
    protocol = f'viser-v{viser.__version__}'
    options = {
        'header': {'headers': {'Authorization': f'Bearer {token}', 'token': token}},
        'cookie': {'headers': {'Cookie': f'token={token}'}},
        'subprotocol': {'subprotocols': [protocol, token]},
        'path': {'path': f'/{token}'},
        'fragment of the query': {'path': f'/?Token={token}&x=token={token}'},
    }[part]
    with Page(cockpit, 'none', **options) as page:
        assert_read_only(cockpit, page)


def assert_read_only(cockpit, page):
    number = page.join()
    before = cockpit.gate.rejected
    slider = cockpit.controls.sliders['boom']
    attack = [
        BEAT_MESSAGE,
        update(cockpit.controls.armed, True),
        update(slider, 5.0),
        {'type': 'GuiUpdateMessage', 'uuid': slider._impl.uuid, 'updates': {'disabled': False}},
        {'type': 'CommandTriggerMessage', 'uuid': 'x'},
    ]
    for content in attack:
        page.send(content)
    until(lambda: cockpit.gate.rejected >= before + len(attack) - 1)
    page.send({**CAMERA, 'fov': 0.7})  # it still displays
    until(lambda: cockpit.server.get_clients()[number].camera.fov == 0.7)
    assert number not in cockpit.drivers
    assert not cockpit.controls.armed.value
    assert slider.value == 0.0
    assert actions(cockpit) == []


def test_page_without_a_token_is_read_only(cockpit):
    with Page(cockpit, 'none') as page:
        assert_read_only(cockpit, page)


@pytest.mark.parametrize(
    'content',
    [
        b'\xc1',
        b'',
        msgspec.msgpack.encode([1, 2]),
        msgspec.msgpack.encode({'type': 7}),
        msgspec.msgpack.encode({'type': 'NoSuchMessage'}),
        msgspec.msgpack.encode({'type': 'GuiUpdateMessage'}),
        msgspec.msgpack.encode({'type': 'GuiUpdateMessage', 'uuid': 'x', 'updates': {'removed': True}}),
        msgspec.msgpack.encode({**CAMERA, 'position': [float('nan')] * 3}),
        msgspec.msgpack.encode({**CAMERA, 'position': [1.0]}),
        msgspec.msgpack.encode({**CAMERA, 'fov': 'wide'}),
        'text',
    ],
)
def test_message_that_can_not_be_read_is_dropped_and_the_page_stays(cockpit, content):
    with Page(cockpit) as page:
        number, before = page.join(), cockpit.gate.rejected
        page.socket.send(content)
        until(lambda: cockpit.gate.rejected == before + 1)
        page.send({**CAMERA, 'fov': 0.9})
        until(lambda: cockpit.server.get_clients()[number].camera.fov == 0.9)


def test_hidden_or_silent_page_may_not_drive():
    cockpit = Cockpit('127.0.0.1', 0, 'test', beat_timeout=0.6)
    try:
        with Page(cockpit) as page:
            number = page.join()
            page.send(BEAT_MESSAGE)
            until(lambda: number in cockpit.drivers)
            page.send({'type': BEAT, 'visible': False})
            until(lambda: number not in cockpit.drivers)
            page.send(BEAT_MESSAGE)
            until(lambda: number in cockpit.drivers)
            until(lambda: number not in cockpit.drivers)  # it sends no more
            assert number in cockpit.clients
    finally:
        cockpit.stop()


@pytest.mark.parametrize(('crowd', 'late'), [('none', 'right'), ('right', 'none')])
def test_number_of_open_pages_is_bounded_with_reserved_pages_for_the_token(cockpit, crowd, late):
    """Programs without the token must not block the operator."""
    with contextlib.ExitStack() as stack:
        for _ in range(MOST_PAGES):
            stack.enter_context(Page(cockpit, crowd))
        assert status_of(lambda: Page(cockpit, crowd)) == 403
        page = stack.enter_context(Page(cockpit, late))
        number = page.join()
        page.send(BEAT_MESSAGE)
        until(lambda: (number in cockpit.drivers) == (late == 'right'))
    until(lambda: not cockpit.gate._open)


# -- requests ----------------------------------------------------------------------------------------------------------


def get(cockpit, path='/', host=None, hosts=None):
    connection = http.client.HTTPConnection('127.0.0.1', cockpit.port, timeout=scaled_timeout(20))
    connection.putrequest('GET', path, skip_host=True)
    for name in hosts if hosts is not None else [host or f'127.0.0.1:{cockpit.port}']:
        connection.putheader('Host', name)
    connection.endheaders()
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer, body


@pytest.mark.parametrize(
    'host', ['evil.example', 'evil.example:8080', '127.0.0.1.evil.example', '10.1.2.3', 'a@localhost']
)
def test_request_for_another_host_is_rejected(cockpit, host):
    answer, body = get(cockpit, host=host)
    assert answer.status == 403
    assert b'Host' in body
    assert len(body) < 300


def test_request_without_a_host_or_with_two_is_rejected(cockpit):
    assert get(cockpit, hosts=[])[0].status == 403
    assert get(cockpit, hosts=['localhost', 'evil.example'])[0].status == 403


def test_websocket_for_another_host_is_rejected(cockpit):
    headers = {'Host': 'evil.example'}
    with pytest.raises((InvalidStatus, ConnectionClosed)):
        Page(cockpit, origin='http://evil.example', headers=headers)


@pytest.mark.parametrize('host', ['localhost:9', '127.0.0.1', '[::1]:8080', '127.0.0.2:1'])
def test_page_is_served_on_this_computer_for_any_forwarded_port(cockpit, host):
    answer, body = get(cockpit, host=host)
    assert answer.status == 200
    assert BEAT.encode() in body
    assert cockpit.gate.access.token.encode() not in body


def test_page_can_not_be_framed_kept_or_sniffed(cockpit):
    answer, _ = get(cockpit, f'/?token={cockpit.gate.access.token}')
    assert answer.status == 200
    assert "frame-ancestors 'none'" in answer.headers['Content-Security-Policy']
    assert answer.headers['Referrer-Policy'] == 'no-referrer'
    assert answer.headers['Cache-Control'] == 'no-store'


def test_old_address_is_rejected_with_the_reason(cockpit):
    answer, body = get(cockpit, '/?token=of-yesterday')
    assert answer.status == 403
    assert b'does not match the running page' in body


@pytest.mark.parametrize('path', ['/../../etc/passwd', '/%2e%2e/%2e%2e/etc/passwd', '/no/such/file'])
def test_nothing_but_the_page_is_served(cockpit, path):
    assert get(cockpit, path)[0].status == 404


# -- token -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('query', 'right'),
    [
        ('?token={0}', True), ('?other=1&token={0}', True), ('?token={0}#token=wrong', True), ('', False),
        ('?Token={0}', False), ('#token={0}', False), ('?token', None), ('?token=', None), ('?token={0}{0}', None),
        ('?token=%20{0}', None), ('?token={0}%00', None), *((f'?token={query}', None) for query in TWO_TOKENS),
    ],
)  # fmt: skip
def test_only_a_single_right_token_gives_the_right_to_drive(query, right):
    access = Access('127.0.0.1', 'a-token-of-this-page')
    assert access.right_of('/' + query.format(access.token)) is right


def test_token_is_new_each_time_and_long_enough(monkeypatch):
    monkeypatch.delenv('DYN_NODES_PAGE_TOKEN', raising=False)
    tokens = {new_token() for _ in range(50)}
    assert len(tokens) == 50
    assert min(map(len, tokens)) >= 20
    assert Access('127.0.0.1', 'secret').__repr__().count('secret') == 0


@pytest.mark.parametrize('token', ['', 'short', 'with space and more', 'quote"' * 4, 'é' * 20])
def test_token_of_the_environment_that_can_be_guessed_is_rejected(monkeypatch, token):
    monkeypatch.setenv('DYN_NODES_PAGE_TOKEN', token)
    with pytest.raises(ValueError, match='DYN_NODES_PAGE_TOKEN: expected at least 16'):
        new_token()


def test_page_on_all_interfaces_accepts_only_addresses_and_its_host_name():
    access = Access('0.0.0.0', 'x' * 20)
    assert access.host_error(['10.1.2.3:8080']) == ''
    assert access.host_error(['evil.example:8080']) != ''
    assert Access('robot.lan', 'x' * 20).host_error(['robot.lan:80']) == ''


def test_exactly_one_host_and_one_origin_are_accepted():
    access, host = Access('127.0.0.1', 'x' * 20), '127.0.0.1:80'
    assert access.host_error([host]) == ''
    assert access.host_error([]) == 'expected one Host header, found 0'
    assert access.host_error([host, host]) == 'expected one Host header, found 2'
    assert access.origin_error([f'http://{host}'], host) == ''
    assert access.origin_error([], host) == 'expected one Origin header, found 0'
    assert access.origin_error([f'http://{host}'] * 2, host) == 'expected one Origin header, found 2'


def test_motion_player_has_the_same_gate():
    from dyn_nodes.studies.animations import animations_of

    player = Player(animations_of('saha-1991/disk', ('F1',)))
    try:
        assert get(player, host='evil.example')[0].status == 403
        assert status_of(lambda: Page(player, origin='http://evil.example')) == 403
        with Page(player, 'none') as page:
            page.send(CAMERA)
            until(lambda: player.server.get_clients())
            before = player.gate.rejected
            page.send(update(player._run, 'Pause'))
            until(lambda: player.gate.rejected == before + 1)
            assert player.playing
    finally:
        player.stop()


def test_server_without_the_gate_is_rejected(monkeypatch):
    monkeypatch.setattr(Gate, '_in_front', lambda self: contextlib.nullcontext())
    with pytest.raises(RuntimeError, match='its server starts in an unsupported way'):
        Gate('127.0.0.1', 0)


@pytest.mark.timeout(180)
def test_printed_address_of_the_node_answers_at_once_and_is_not_on_rosout(tmp_path):
    environment = {
        **os.environ,
        'ROS_DOMAIN_ID': str(50 + os.getpid() % 10),
        'PYTHONPATH': str(ROOT),
        'DYN_NODES_MIDDLEWARE': 'embedded',
        'ROS_LOG_DIR': str(tmp_path),
    }
    command = [sys.executable, '-u', '-m', 'dyn_nodes.nodes.viewer_node', '--ros-args', '-p', 'port:=0']
    node = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        line = next(line for line in node.stdout if 'http://' in line)
        address = next(word for word in line.split() if word.startswith('http://'))
        port, token = address.removeprefix('http://127.0.0.1:').split('/?token=')
        connection = http.client.HTTPConnection('127.0.0.1', int(port), timeout=scaled_timeout(20))
        connection.request('GET', f'/?token={token}')
        assert connection.getresponse().status == 200
        connection.close()
        assert not [path for path in tmp_path.rglob('*') if path.is_file() and token in path.read_text()]
    finally:
        node.terminate()
        node.wait(scaled_timeout(60))
        node.stdout.close()


# -- messages of other threads -----------------------------------------------------------------------------------------


def test_a_message_wakes_every_page_while_other_pages_connect_and_close():
    """`asyncio.Event` fails if its waiters change while another thread sends a message."""
    woken, changes = [], []

    class Waiters(collections.deque):
        """Waiters to which one is added when the first is woken, as its event loop may do at that instant."""

        def __iter__(self):
            for number, waiter in enumerate(super().__iter__()):
                yield waiter
                if not number and changes:
                    self.append(changes.pop())

    async def stay(event):
        await event.wait()
        woken.append(event)

    async def wake(event):
        event._waiters = Waiters()
        changes.append(loop.create_future())
        pages = [asyncio.ensure_future(stay(event)) for _ in range(3)]
        await asyncio.sleep(0)
        event.set()
        await asyncio.wait_for(asyncio.gather(*pages), 10.0)

    loop = asyncio.new_event_loop()
    try:
        with pytest.raises(RuntimeError, match='mutated'):
            loop.run_until_complete(wake(asyncio.Event()))
        event = AnyThreadEvent()
        loop.run_until_complete(wake(event))
        assert woken.count(event) == 3
    finally:
        loop.close()
