"""Reading facts, labels and pairs from anything people have them in."""
