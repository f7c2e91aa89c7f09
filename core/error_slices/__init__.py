"""Error slices: where a detector, a segmenter or a classifier fails, as hypotheses that are matched to single instances and tested."""
