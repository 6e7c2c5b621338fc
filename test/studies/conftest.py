"""Fixtures of this room."""

from log_loader_fixtures import machine

__all__ = ['machine']
