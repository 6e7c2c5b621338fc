"""Definitions missing in the message store: std_srvs, rcl_interfaces and nav2_msgs."""

from __future__ import annotations

#: Message type -> definition text.
MESSAGES = {
    'nav2_msgs/msg/SpeedLimit': 'std_msgs/Header header\nbool percentage\nfloat64 speed_limit\n',
}

#: Service type -> definition text.
SERVICES = {
    'std_srvs/srv/Empty': '---\n',
    'std_srvs/srv/Trigger': '---\nbool success\nstring message\n',
    'std_srvs/srv/SetBool': 'bool data\n---\nbool success\nstring message\n',
    'rcl_interfaces/srv/GetParameters': 'string[] names\n---\nParameterValue[] values\n',
    'rcl_interfaces/srv/GetParameterTypes': 'string[] names\n---\nuint8[] types\n',
    'rcl_interfaces/srv/SetParameters': 'Parameter[] parameters\n---\nSetParametersResult[] results\n',
    'rcl_interfaces/srv/SetParametersAtomically': 'Parameter[] parameters\n---\nSetParametersResult result\n',
    'rcl_interfaces/srv/ListParameters': (
        'uint64 DEPTH_RECURSIVE=0\nstring[] prefixes\nuint64 depth\n---\nListParametersResult result\n'
    ),
    'rcl_interfaces/srv/DescribeParameters': 'string[] names\n---\nParameterDescriptor[] descriptors\n',
    'rcl_interfaces/srv/GetLoggerLevels': 'string[] names\n---\nLoggerLevel[] levels\n',
    'rcl_interfaces/srv/SetLoggerLevels': 'LoggerLevel[] levels\n---\nSetLoggerLevelsResult[] results\n',
}

#: Default values in message definitions that the store ignores: type -> field -> value.
DEFAULTS: dict[str, dict[str, object]] = {
    'geometry_msgs/msg/Quaternion': {'w': 1.0},
    'simulation_interfaces/srv/StepSimulation_Request': {'steps': 1},
}
