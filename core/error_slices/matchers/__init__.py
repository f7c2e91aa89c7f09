"""Matchers that need no model: boxes, neighbours and pixels in, a score between 0 and 1 out."""
