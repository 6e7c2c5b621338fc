"""A machine that a command was given, by name or by files, for commands that need its machine YAML."""

from __future__ import annotations

from pathlib import Path

from dyn_nodes.commands import CommandError
from dyn_nodes.model import LoadReport, load_machine_report
from dyn_nodes.model.named import machine_files


def machine_report(machine: str | Path, config: str | None) -> LoadReport:
    """Return what loading a machine gives.

    Args:
        machine: name of a machine of the package, or path of its URDF.
        config: path or name of its machine YAML; None or '': that of the name.

    Raises:
        CommandError: an unknown name, or a URDF by its path without a machine YAML.
    """
    try:
        urdf, yaml = machine_files(machine, config)
    except ValueError as error:
        raise CommandError(str(error)) from None
    if yaml is None:
        raise CommandError(f'--config: expected the machine YAML of {urdf}, found none', 2)
    return load_machine_report(urdf, yaml)
