"""Batches of runs of one system, in the vector lanes of the processor and on all cores."""

from dyn_nodes.simulation.batches.runs import fill_outputs, run_batch, takes_lanes

__all__ = ['fill_outputs', 'run_batch', 'takes_lanes']
