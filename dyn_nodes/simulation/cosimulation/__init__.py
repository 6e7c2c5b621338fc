"""Actuators in a process beside the dynamics: what goes to and fro at the instants of exchange."""
