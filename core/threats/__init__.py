"""Additional threats: the taxonomy, the rate of scenes without one, and how far sets of hard scenes overlap."""
