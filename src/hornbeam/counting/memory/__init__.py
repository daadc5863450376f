"""The default engine: the graph in memory, the search in kernels on every core."""
