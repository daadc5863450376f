"""The facts as a graph: adjacency lists, and the helpers that all kernels over them share."""
