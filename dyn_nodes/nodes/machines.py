"""Which machine a node speaks of."""

from __future__ import annotations

from pathlib import Path

from dyn_nodes.model import Machine, load_machine
from dyn_nodes.share import find_resource


def machine_of(urdf: str, config: str) -> Machine:
    """Load the machine of a node's parameters.

    Args:
        urdf: path of a URDF, or the name of a machine of this package.
        config: path of the machine YAML; empty: that of the machine's name, or none for a path.

    Raises:
        ValueError (MachineError among them): with what is wrong, in one line a problem.
    """
    if not urdf:
        raise ValueError("parameter 'machine': expected the path of a URDF or a machine's name, found nothing")
    if '/' not in urdf and not urdf.endswith(('.urdf', '.xacro')):
        try:
            return load_machine(find_resource(f'urdf/{urdf}.urdf'), config or find_resource(f'config/{urdf}.yaml'))
        except FileNotFoundError as error:
            raise ValueError(f"parameter 'machine': {error}") from None
    if not Path(urdf).is_file():
        raise ValueError(f"parameter 'machine': no such file: {urdf}")
    return load_machine(urdf, config or None)
