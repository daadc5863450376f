"""Statistics of collective models: targets as edges of the graph."""
