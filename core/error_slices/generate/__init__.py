"""Hypotheses proposed by models: from what they know of a task, and from captions of the data (GH-ESD, section 3.2)."""
