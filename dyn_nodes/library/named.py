"""Machines by the names that launch files and nodes know, or by their files."""

from __future__ import annotations

from pathlib import Path

from dyn_nodes.library.machine import Machine
from dyn_nodes.library.notice import shown
from dyn_nodes.model.load import load_machine
from dyn_nodes.model.problems import did_you_mean
from dyn_nodes.share import share_directory

ENDINGS = ('.urdf', '.xacro', '.xml')


def machines() -> tuple[str, ...]:
    """Return the names of the machines of this package, in alphabetical order.

    Each has a machine YAML; a URDF of its name, or that of the machine whose name it begins with.
    """
    return tuple(sorted(_files()))


def load(machine: str | Path, config: str | Path | None = None) -> Machine:
    """Load a machine.

    Args:
        machine: name of a machine of this package, such as `log_loader` (see `machines`), or path of a URDF or xacro
            file.
        config: path of the machine YAML, or name of one of this package; None: the named machine's own, or for a path
            none: then the base is fixed and there are no wheels, actuators or payload.

    Returns:
        The machine; nothing is compiled yet.

    Raises:
        ValueError: no such name or file; the message has the nearest name. Or (`MachineError`) the files have faults;
            all of them are in its message, with file, line and key.
    """
    known = _files()
    named = isinstance(machine, str) and '/' not in machine and not machine.endswith(ENDINGS)
    if named:
        if machine not in known:
            raise ValueError(f'unknown machine {did_you_mean(str(machine), machines())}')
        urdf, own = known[str(machine)]
    else:
        urdf, own = _file('machine', Path(machine)), None
    if config is None:
        yaml = own
    elif isinstance(config, str) and '/' not in config and not config.endswith(('.yaml', '.yml')):
        if config not in known:
            raise ValueError(f'unknown config {did_you_mean(config, machines())}')
        yaml = known[config][1]
    else:
        yaml = _file('config', Path(config))
    with shown():
        return Machine(load_machine(urdf, yaml))


def _file(what: str, path: Path) -> Path:
    if not path.is_file():
        raise ValueError(f'{what}: no such file: {path}')
    return path


def _files() -> dict[str, tuple[Path, Path]]:
    """Return URDF and YAML of every machine of the share, by name."""
    share = share_directory()
    urdfs = {path.stem: path for path in (share / 'urdf').glob('*.urdf')}
    found = {}
    for yaml in (share / 'config').glob('*.yaml'):
        name = yaml.stem
        if name in urdfs:
            found[name] = (urdfs[name], yaml)
        elif (share / 'launch' / f'{name}.launch.xml').is_file():  # a variant, such as agv_axle_rigid of agv_axle
            begins = [stem for stem in urdfs if name.startswith(f'{stem}_')]
            if begins:
                found[name] = (urdfs[max(begins, key=len)], yaml)
    return found
