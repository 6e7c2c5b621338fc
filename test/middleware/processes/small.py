"""A small node that uses the whole API on the chosen runtime; prints the results as JSON."""

from __future__ import annotations

import contextlib
import json

from dyn_nodes.middleware import (
    RUNTIME,
    DurabilityPolicy,
    ExternalShutdownException,
    FloatingPointRange,
    Node,
    Parameter,
    ParameterDescriptor,
    QoSProfile,
    SetParametersResult,
    SingleThreadedExecutor,
    drive_clock,
    init,
    message,
    qos_profile_sensor_data,
    serialize_message,
    service,
    type_name,
)

JointState = message('sensor_msgs/msg/JointState')
Trigger = service('std_srvs/srv/Trigger')


class Small(Node):
    def __init__(self) -> None:
        super().__init__('small')
        self.seen: dict = {'runtime': RUNTIME, 'type': type_name(JointState), 'plain': 0, 'raw': 0, 'stamped': 0}
        limits = ParameterDescriptor(floating_point_range=[FloatingPointRange(from_value=0.0, to_value=10.0)])
        self.declare_parameter('gain', 1.0, limits)
        self.add_on_set_parameters_callback(self.on_parameters)
        self.publisher = self.create_publisher(JointState, 'joint_states', 10)
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self.create_publisher(message('std_msgs/msg/String'), 'robot_description', latched)
        self.create_subscription(JointState, 'joint_states', self.on_state, 10)
        self.create_subscription(JointState, 'joint_states', self.on_raw, qos_profile_sensor_data, raw=True)
        self.create_subscription(JointState, 'joint_states', self.on_stamped, 10)
        self.create_service(Trigger, '~/reset', self.on_reset)
        self.client = self.create_client(Trigger, '~/reset')
        self.create_timer(0.02, self.on_timer)

    def on_parameters(self, parameters: list) -> SetParametersResult:
        return SetParametersResult(successful=all(item.value != 13.0 for item in parameters))

    def on_state(self, msg: object) -> None:
        self.seen['plain'] += 1
        self.seen['position'] = list(msg.position)

    def on_raw(self, data: bytes) -> None:
        self.seen['raw'] += 1

    def on_stamped(self, msg: object, info: object) -> None:
        self.seen['stamped'] += int(info['source_timestamp'] > 0 and info['received_timestamp'] > 0)

    def on_reset(self, request: object, response: object) -> object:
        response.success, response.message = True, 'reset'
        return response

    def on_timer(self) -> None:
        msg = JointState(name=['boom'], position=[0.25])
        msg.header.stamp = self.get_clock().now().to_msg()
        self.publisher.publish(msg)
        self.publisher.publish(bytes(serialize_message(msg)))


def main() -> None:
    with init():
        node = Small()
        executor = SingleThreadedExecutor()
        executor.add_node(node)
        results = node.set_parameters([Parameter('gain', value=3.0), Parameter('gain', value=11.0)])
        node.seen['set'] = [result.successful for result in results]
        for _ in range(100):
            executor.spin_once(timeout_sec=0.02)
        future = node.client.call_async(Trigger.Request())
        executor.spin_until_future_complete(future, timeout_sec=5.0)
        node.seen['answer'] = future.result().message
        drive_clock(node, 5_000_000_000)
        node.seen['time'] = node.get_clock().now().nanoseconds
        node.get_logger().info('done', once=True)
        executor.shutdown()
        node.destroy_node()
        print('result', json.dumps(node.seen), flush=True)


if __name__ == '__main__':
    with contextlib.suppress(KeyboardInterrupt, ExternalShutdownException):
        main()
