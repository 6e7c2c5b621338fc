"""The topic `imu` of the dynamics node: readings of an ideal IMU in the base link."""

from __future__ import annotations

from typing import Any

from dyn_nodes.middleware import message
from dyn_nodes.multibody.inertial_sensor import read_imu
from dyn_nodes.nodes.demand import Demand
from dyn_nodes.nodes.prepared import PreparedPublisher
from dyn_nodes.nodes.stamps import nanoseconds_of, packed_stamp
from dyn_nodes.simulation.plant import Plant

Imu = message('sensor_msgs/msg/Imu')


class ImuReport:
    """Publisher of `imu` by REP-145: frame of the base link, specific force, orientation in a level world.

    The covariances are zero: unknown.

    Args:
        node: the node.
        plant: the machine.
        qos: of the topic.
    """

    def __init__(self, node: Any, plant: Plant, qos: Any) -> None:
        self.plant = plant
        prototype = Imu()
        prototype.header.frame_id = plant.machine.base.link
        fields = 'orientation', 'angular_velocity', 'linear_acceleration'
        self.publisher = PreparedPublisher(node.create_publisher(Imu, 'imu', qos), prototype, *fields)
        self._demand = Demand(lambda: (self.publisher,))

    def publish(self) -> None:
        """Publish the reading of this instant if the topic has a subscription."""
        if not self._demand.exists():
            return
        reading = read_imu(self.plant)
        numbers = [number for part in reading for number in part.tolist()]
        self.publisher.publish(packed_stamp(nanoseconds_of(self.plant.time)), numbers)
