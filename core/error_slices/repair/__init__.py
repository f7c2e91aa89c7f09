"""What people who repair a model need of an accepted slice: weights, groups, lists and subsets."""
