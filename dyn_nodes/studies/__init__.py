"""The sources' experiments, their framework, and simulated campaigns against monitor and governor."""
