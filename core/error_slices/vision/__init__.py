"""Matching by a vision model: what is asked and shown, how yes and no are read, what it costs, and the run itself."""
