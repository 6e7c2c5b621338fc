"""The sources' experiments, their framework, and simulated campaigns against the monitor."""
