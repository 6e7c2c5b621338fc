"""Many runs of one system at once, in the lanes of the processor's vectors and on all cores."""

from dyn_nodes.simulation.batches.runs import fill_outputs, run_batch, takes_lanes

__all__ = ['fill_outputs', 'run_batch', 'takes_lanes']
