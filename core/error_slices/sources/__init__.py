"""Readers of what detectors, segmenters and classifiers write, each with a report of what it met."""
