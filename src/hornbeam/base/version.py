"""The version of this package."""

__version__ = "0.9.0"
