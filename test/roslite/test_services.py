from __future__ import annotations

import threading

import pytest

from roslite.runtime import dds
from roslite.runtime import service as service_module
from roslite.runtime.api import Node, SingleThreadedExecutor, message, service

SetBool = service('std_srvs/srv/SetBool')
Trigger = service('std_srvs/srv/Trigger')
Bool = message('std_msgs/msg/Bool')


def on_switch(request, response):
    response.success = request.data
    response.message = 'on' if request.data else 'off'
    return response


def test_a_service_answers_each_client_its_requests(node, spinner):
    node.create_service(SetBool, '~/switch', on_switch)
    clients = [node.create_client(SetBool, '/tester/switch') for _ in range(2)]
    assert all(client.wait_for_service(2.0) for client in clients)
    futures = [client.call_async(SetBool.Request(data=bool(index % 2))) for index, client in enumerate(clients * 3)]
    spinner.until(lambda: all(future.done() for future in futures))
    assert [future.result().message for future in futures] == ['off', 'on', 'off', 'on', 'off', 'on']


def test_empty_requests_and_spin_until_future_complete(context, node, spinner):
    node.create_service(Trigger, 'go', lambda request, response: Trigger.Response(success=True, message='went'))
    client = node.create_client(Trigger, 'go')
    assert client.wait_for_service(timeout_sec=2.0)
    future = client.call_async(Trigger.Request())
    spinner.executor.spin_until_future_complete(future, timeout_sec=2.0)
    assert future.result().message == 'went'


def test_waiting_for_a_missing_service_ends(node):
    client = node.create_client(Trigger, 'nowhere')
    assert not client.service_is_ready()
    assert not client.wait_for_service(timeout_sec=0.05)


def test_a_wrong_request_or_response_is_rejected(node, spinner):
    node.create_service(Trigger, 'go', lambda request, response: None)
    client = node.create_client(Trigger, 'go')
    client.wait_for_service(2.0)
    with pytest.raises(TypeError, match='service /go: expected std_srvs/srv/Trigger_Request'):
        client.call_async(SetBool.Request())
    client.call_async(Trigger.Request())
    with pytest.raises(TypeError, match='the callback must return std_srvs/srv/Trigger_Response'):
        spinner.for_seconds(2.0)


def test_a_service_may_await_another(node, spinner):
    node.create_service(SetBool, 'inner', on_switch)
    inner = node.create_client(SetBool, 'inner')

    async def outer(request, response):
        answer = await inner.call_async(SetBool.Request(data=True))
        response.message = f'inner is {answer.message}'
        return response

    node.create_service(Trigger, 'outer', outer)
    client = node.create_client(Trigger, 'outer')
    assert inner.wait_for_service(2.0)
    assert client.wait_for_service(2.0)
    future = client.call_async(Trigger.Request())
    spinner.until(future.done)
    assert future.result().message == 'inner is on'


def test_a_blocking_call_works_while_another_thread_spins(context, node):
    node.create_service(SetBool, 'switch', on_switch)
    client = node.create_client(SetBool, 'switch')
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    thread = threading.Thread(target=executor.spin)
    thread.start()
    try:
        assert client.wait_for_service(2.0)
        assert client.call(SetBool.Request(data=True), timeout_sec=2.0).message == 'on'
    finally:
        executor.shutdown()
        thread.join(5.0)
    assert not thread.is_alive()


def test_parameters_of_another_process_are_listed_read_and_set_within_their_range(node, spinner, start):
    from roslite.runtime.api import Parameter, parameter_value_to_python

    child = start('echo.py')
    child.wait_for_line('ready')

    def call(kind, name, **fields):
        srv = service(f'rcl_interfaces/srv/{kind}')
        client = node.create_client(srv, f'/echo/{name}')
        assert client.wait_for_service(5.0)
        future = client.call_async(srv.Request(**fields))
        spinner.until(future.done)
        node.destroy_client(client)
        return future.result()

    assert call('ListParameters', 'list_parameters').result.names == ['gain', 'use_sim_time']
    values = call('GetParameters', 'get_parameters', names=['gain', 'nothing']).values
    assert [parameter_value_to_python(value) for value in values] == [1.0, None]
    assert list(call('GetParameterTypes', 'get_parameter_types', names=['gain', 'nothing']).types) == [3, 0]
    limits = call('DescribeParameters', 'describe_parameters', names=['gain']).descriptors[0].floating_point_range[0]
    assert (limits.from_value, limits.to_value) == (0.0, 10.0)

    def setting(name, value):
        return [Parameter(name, value=value).to_parameter_msg()]

    good, bad, unknown = (
        call('SetParameters', 'set_parameters', parameters=setting(*pair)).results[0]
        for pair in (('gain', 3.0), ('gain', 11.0), ('nothing', 1))
    )
    assert good.successful
    assert not bad.successful
    assert 'value 11.0 is out of range [0.0, 10.0]' in bad.reason
    assert not unknown.successful
    assert not call(
        'SetParametersAtomically', 'set_parameters_atomically', parameters=setting('gain', 'x')
    ).result.successful
    values = call('GetParameters', 'get_parameters', names=['gain']).values
    assert parameter_value_to_python(values[0]) == 3.0
    switched = call_service(node, spinner, '/echo/switch')
    assert switched.message == 'on'


def call_service(node, spinner, name):
    client = node.create_client(SetBool, name)
    assert client.wait_for_service(5.0)
    future = client.call_async(SetBool.Request(data=True))
    spinner.until(future.done)
    return future.result()


def test_listing_parameters_by_prefix_and_depth(context, node, spinner):
    other = Node('other', context=context)
    spinner.executor.add_node(other)
    other.declare_parameters('', [('a.b.c', 1), ('a.d', 2), ('e', 3)])
    srv = service('rcl_interfaces/srv/ListParameters')
    client = node.create_client(srv, '/other/list_parameters')
    assert client.wait_for_service(2.0)

    def names(**fields):
        future = client.call_async(srv.Request(**fields))
        spinner.until(future.done)
        return future.result().result

    assert names().names == ['a.b.c', 'a.d', 'e', 'use_sim_time']
    assert names(prefixes=['a']).names == ['a.b.c', 'a.d']
    assert names(prefixes=['a'], depth=1).names == ['a.d']
    assert names(depth=1).names == ['e', 'use_sim_time']
    assert names(prefixes=['a']).prefixes == ['a', 'a.b']


def mute_client(node):
    """Return a client whose requests arrive and whose reader has been removed."""
    client = node.create_client(Trigger, 'go')
    assert client.wait_for_service(5.0)
    node._clients.remove(client)
    dds.delete_entity(client._condition)
    dds.delete_entity(client._reader)
    return client


def test_a_client_that_cannot_receive_its_responses_does_not_block_the_executor(node, spinner, monkeypatch):
    monkeypatch.setattr(service_module, '_MATCH_TIMEOUT', 60.0)
    handled, received = [], []
    node.create_service(Trigger, 'go', lambda request, response: handled.append(1) or response)
    node.create_subscription(Bool, 'topic', received.append, 10)
    publisher = node.create_publisher(Bool, 'topic', 10)
    client = mute_client(node)
    for _ in range(5):
        client.call_async(Trigger.Request())
    spinner.until(lambda: len(handled) == 5)
    publisher.publish(Bool(data=True))
    spinner.until(lambda: bool(received))


def test_responses_that_cannot_be_delivered_are_dropped_counted_and_bounded(node, spinner, monkeypatch):
    monkeypatch.setattr(service_module, '_MATCH_TIMEOUT', 0.05)
    monkeypatch.setattr(service_module, '_MOST_WAITING', 3)
    made = node.create_service(Trigger, 'go', lambda request, response: response)
    client = mute_client(node)
    for _ in range(8):
        client.call_async(Trigger.Request())
    spinner.until(lambda: made.dropped == 8)
    assert node.count_dropped() == {'undelivered /go': 8}
    assert not made.has_waiting
