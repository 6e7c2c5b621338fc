"""Options and loading of a machine by name or by files, for commands that need its machine YAML."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from dyn_nodes.commands import CONFIG_HELP, CommandError, add_machine_and_config
from dyn_nodes.model import LoadReport, Machine, load_machine_report
from dyn_nodes.model.named import machine_files


def machine_report(machine: str | Path, config: str | None) -> LoadReport:
    """Return the report of loading a machine.

    Args:
        machine: name of a machine of the package, or path of its URDF.
        config: path or name of its machine YAML; None or '': the YAML of the named machine.

    Raises:
        CommandError: an unknown name, or the path of a URDF without a machine YAML.
    """
    try:
        urdf, yaml = machine_files(machine, config)
    except ValueError as error:
        raise CommandError(str(error)) from None
    if yaml is None:
        raise CommandError(f'--config: expected the machine YAML of {urdf}, found none', 2)
    return load_machine_report(urdf, yaml)


def add_machine(parser: argparse.ArgumentParser, config_help: str = CONFIG_HELP) -> None:
    """Add --machine and --config."""
    add_machine_and_config(parser, '--machine', config_help, required=True)


def sound_machine(args: argparse.Namespace) -> Machine | None:
    """Return the machine of --machine and --config; None if its files have faults, which are printed.

    Raises:
        CommandError: as `machine_report`.
    """
    report = machine_report(args.machine, args.config)
    if report.machine is None:
        for problem in report.problems:
            print(problem, file=sys.stderr)
    return report.machine
