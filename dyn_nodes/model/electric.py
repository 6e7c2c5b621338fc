"""Base class of the records of electric motors."""

from dyn_nodes.model.actuator import ActuatorRecord


class ElectricRecord(ActuatorRecord):
    """An electric motor: L di/dt = V - R i - g w, effort = g i - B w, with the rate w of the joint.

    A subclass declares its keys, `effort_per_current` and `viscous`, which simulation and control use.

    Attributes:
        resistance: R, ohm.  inductance: L, H.
        voltage_limit: of the source, V.  current_limit: of the amplifier, A.
    """

    resistance: float
    inductance: float
    voltage_limit: float
    current_limit: float

    @property
    def effort_per_current(self) -> float:
        """Effort g of the joint per current, N m/A or N/A; back-emf per rate of the joint, V s/rad or V s/m."""
        raise NotImplementedError

    @property
    def viscous(self) -> float:
        """Viscous friction B at the joint, N m s/rad or N s/m."""
        return 0.0

    @property
    def current_unit(self) -> str:
        """Unit of the effort per current."""
        return 'N m/A'

    @property
    def command_limit(self) -> float:
        """Voltage of the source, V."""
        return self.voltage_limit

    @property
    def source_limit(self) -> float:
        """Voltage of the source, V."""
        return self.voltage_limit
