"""Services of the embedded runtime and clients on rclpy with Fast DDS, which identify requests differently."""

from __future__ import annotations

import time

import pytest
from timeouts import scaled_timeout

pytest.importorskip('rclpy')

from dyn_nodes.middleware import real

SetBool = real.service('std_srvs/srv/SetBool')


def test_services_that_cannot_answer_are_not_available_to_fast_dds(start):
    """Both ways: neither side finds the other's service ready, and no request is executed."""
    context = real.Context()
    real.init(args=['client'], context=context)
    try:
        node, executor = real.Node('client', context=context), real.SingleThreadedExecutor(context=context)
        executor.add_node(node)
        node.create_service(SetBool, '/theirs', lambda request, response: response)
        switch = node.create_client(SetBool, '/ours')
        child = start('embedded_services.py')
        end = time.monotonic() + scaled_timeout(20.0)
        while node.count_services('/ours') == 0 and time.monotonic() < end:
            executor.spin_once(timeout_sec=0.05)
        assert node.count_services('/ours') == 1, 'the service is in the graph'
        assert not switch.wait_for_service(timeout_sec=2.0)
        parameters = node.create_client(real.service('rcl_interfaces/srv/GetParameters'), '/embedded/get_parameters')
        assert node.count_services('/embedded/get_parameters') == 1, 'ros2 param'
        assert not parameters.wait_for_service(timeout_sec=0.5)
        assert 'False' in child.wait_for_line('theirs is ready:')
        future = switch.call_async(SetBool.Request(data=True))
        executor.spin_until_future_complete(future, timeout_sec=1.0)
        assert not future.done()
        child.kill()
        assert child.stdout.read() == '', 'no request is executed'
    finally:
        executor.shutdown()
        node.destroy_node()
        real.try_shutdown(context=context)
