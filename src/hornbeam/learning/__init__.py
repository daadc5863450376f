"""Learning weights: from statistics and labels to a weighted rule model."""
