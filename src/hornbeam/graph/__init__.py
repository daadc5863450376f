"""The facts as a graph: adjacency lists, and the helpers that kernels over such lists share."""
