"""Matching by a vision model: one marked box, one statement, yes or no (GH-ESD, section 3.3)."""
