"""What a user runs on logs of his own machine: identification of its parameters."""
