"""Experiments of S. K. Saha, Dynamics and Design of Nonholonomic Robotic Mechanical Systems, 1991."""
