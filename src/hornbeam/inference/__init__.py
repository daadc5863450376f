"""Step 5: from weights to scores."""
