"""Adversaries of the governors: runs of simulated machines with random, searched and recorded levers and faults."""
