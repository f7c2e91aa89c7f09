"""Hypotheses that models write, from what they know of a task or from captions of the data, and those that fixed sentences give."""
