"""Fixtures of these tests."""

from __future__ import annotations

from tests.support.small_inputs import small_inputs

__all__ = ["small_inputs"]
