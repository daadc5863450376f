"""Reading facts, labels and pairs from files, frames and tuples."""
