"""Fixtures of this folder."""

from log_loader_fixtures import audited, audited_task, effort_system, machine, system, task

__all__ = ['audited', 'audited_task', 'effort_system', 'machine', 'system', 'task']
