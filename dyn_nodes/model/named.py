"""Machines of the package by name, and the files of a machine."""

from __future__ import annotations

from pathlib import Path

from dyn_nodes.common.share import share_directory
from dyn_nodes.model.problems import did_you_mean

ENDINGS = ('.urdf', '.xacro', '.xml')
YAML_ENDINGS = ('.yaml', '.yml')


def packaged_machines() -> dict[str, tuple[Path, Path]]:
    """Return URDF and YAML of every machine of the package, by name.

    Each has a machine YAML and a URDF of this name; a variant with a launch file uses the URDF of its base machine.
    """
    share = share_directory()
    urdfs = {path.stem: path for path in (share / 'urdf').glob('*.urdf')}
    machines = {}
    for yaml in sorted((share / 'config').glob('*.yaml')):
        name = yaml.stem
        if name in urdfs:
            machines[name] = (urdfs[name], yaml)
        elif (share / 'launch' / f'{name}.launch.xml').is_file():  # a variant, such as agv_axle_rigid of agv_axle
            stems = [stem for stem in urdfs if name.startswith(f'{stem}_')]
            if stems:
                machines[name] = (urdfs[max(stems, key=len)], yaml)
    return machines


def is_name(text: str | Path, endings: tuple[str, ...] = ENDINGS) -> bool:
    """Return whether a text is a name: no path, no file extension, and no file of this directory."""
    return isinstance(text, str) and '/' not in text and not text.endswith(endings) and not Path(text).is_file()


def machine_files(machine: str | Path, config: str | Path | None = None) -> tuple[Path, Path | None]:
    """Return URDF and YAML of a machine.

    Args:
        machine: name of a machine of the package, or path of a URDF or xacro file.
        config: path of the machine YAML, or name of one of the package; None or '': the YAML of the named machine; none
            for a path.

    Raises:
        ValueError: an unknown name; the message suggests the nearest one.
    """
    named_config: Path | None = None
    urdf = Path(machine)
    if is_name(machine):
        machines = packaged_machines()
        if machine not in machines:
            raise ValueError(f'unknown machine {did_you_mean(str(machine), sorted(machines))}')
        urdf, named_config = machines[str(machine)]
    if not config:
        return urdf, named_config
    if is_name(config, YAML_ENDINGS):
        yaml = share_directory() / 'config' / f'{config}.yaml'
        if not yaml.is_file():
            raise ValueError(f'unknown config {did_you_mean(str(config), sorted(packaged_machines()))}')
        return urdf, yaml
    return urdf, Path(config)
