"""A repeated instant is answered more than once; only answers without a stamp are rejected."""

from __future__ import annotations

from domains import next_domain

from dyn_nodes.middleware import Context, Parameter, init, message

DOMAIN = next_domain()
JointState = message('sensor_msgs/msg/JointState')


def test_a_second_answer_to_the_first_instant_is_no_unstamped_command(monkeypatch):
    from dyn_nodes.nodes.dynamics_node import DynamicsNode

    monkeypatch.setenv('ROS_DOMAIN_ID', str(DOMAIN))
    context = Context()
    init(args=['repeated'], context=context)
    values = {'machine': 'four_bar', 'mode': 'realtime', 'partner': 'lockstep'}
    node = DynamicsNode(context=context, parameter_overrides=[Parameter(name, value=values[name]) for name in values])
    answer = JointState(name=list(node.plant.actuated), effort=[0.0] * len(node.plant.actuated))
    try:
        node.repeat()
        node.plant.advance()
        node.receive('joint_command', answer)
        assert sum(node.rejections.counts.values()) == 0
        node.receive('joint_command', answer)
        assert node.rejections.counts['stamp'] == 1
    finally:
        node.destroy_node()
        context.try_shutdown()
