"""A node with topics, parameters and services for tests of the command line."""

from __future__ import annotations

from dyn_nodes.middleware import (
    DurabilityPolicy,
    ExternalShutdownException,
    FloatingPointRange,
    Node,
    ParameterDescriptor,
    QoSProfile,
    SetParametersResult,
    init,
    message,
    service,
    spin,
    try_shutdown,
)

JointState = message('sensor_msgs/msg/JointState')
String = message('std_msgs/msg/String')


class SmallNode(Node):
    def __init__(self) -> None:
        super().__init__('small', namespace='/loader')
        self.states = self.create_publisher(JointState, 'joint_states', 10)
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self.description = self.create_publisher(String, '/robot_description', latched)
        self.description.publish(String(data='<robot name="small"/>'))
        self.commands = self.create_subscription(JointState, 'joint_command', lambda message: None, 10)
        bounds = FloatingPointRange(from_value=0.0, to_value=6000.0, step=0.0)
        self.declare_parameter(
            'payload', 5100.0, ParameterDescriptor(description='Mass in kg.', floating_point_range=[bounds])
        )
        self.declare_parameter('machine', 'log_loader', ParameterDescriptor(read_only=True))
        self.declare_parameter('joints', ['boom', 'arm'])
        self.declare_parameter('gains.kp', 2)
        self.add_on_set_parameters_callback(self.check)
        self.create_service(service('std_srvs/srv/Trigger'), '~/reset', self.reset)
        self.create_service(service('std_srvs/srv/SetBool'), '~/pause', self.pause)
        self.create_timer(0.02, self.tick)
        self.count = 0

    def check(self, parameters):
        bad = any(p.name == 'gains.kp' and p.value > 10 for p in parameters)
        return SetParametersResult(successful=not bad, reason='kp is too large' if bad else '')

    def reset(self, request, response):
        response.success, response.message = True, 'reset done'
        return response

    def pause(self, request, response):
        response.success, response.message = request.data, 'paused' if request.data else 'goes on'
        return response

    def tick(self) -> None:
        self.count += 1
        state = JointState(name=['boom', 'arm'], position=[0.5, -1.25])
        state.header.frame_id = 'base_link'
        state.header.stamp.sec = self.count
        self.states.publish(state)


def main() -> None:
    init()
    try:
        node = SmallNode()
        print('ready', flush=True)
        spin(node)
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    finally:
        try_shutdown()


if __name__ == '__main__':
    main()
