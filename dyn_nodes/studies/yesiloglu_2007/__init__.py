"""The experiments of yesiloglu-2007: dynamics of complex topologies."""
