"""Data that comes with Hornbeam, for the demo and the tutorial."""
