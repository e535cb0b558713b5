"""Who controls the power of machines, by the operator's file, and what installing one takes."""
