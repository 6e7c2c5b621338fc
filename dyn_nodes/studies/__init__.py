"""The sources' experiments, and what a run or a bag says of a machine: summaries, plots, reports."""
