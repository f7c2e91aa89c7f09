"""Other ways to find slices, and how well a list of slices does (GH-ESD, section 5)."""
