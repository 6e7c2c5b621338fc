"""Fixtures of the monitor tests."""

from log_loader_fixtures import audited, audited_task, effort_system, machine, planar, system, task

__all__ = ['audited', 'audited_task', 'effort_system', 'machine', 'planar', 'system', 'task']
