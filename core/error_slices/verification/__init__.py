"""Whether error rises with the matching score: the paper's rule, its Spearman variant, and a calibrated test (GH-ESD, section 3.4)."""
