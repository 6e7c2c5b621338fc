"""Experiments of the five sources, and the framework that runs and checks them."""
