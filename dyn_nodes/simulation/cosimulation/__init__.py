"""Co-simulation: actuators and held objects in separate processes, coupled to the dynamics at exchange instants."""
