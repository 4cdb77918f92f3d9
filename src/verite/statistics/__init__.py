"""Statistics shared by analysis, ranking and leaderboard: confidence intervals, exact tests, multiple comparisons.

- `intervals`: Wilson's interval of a proportion, percentile bootstrap intervals
- `mcnemar`: McNemar's exact test for two detectors on the same objects
- `multiple_comparisons`: stepdown tests of all pairs, confidence sets for ranks, groups of tied detectors
- `rankings`: rank probabilities and pairwise win probabilities from simulated scores
- `calibration`: predicted against observed probabilities that a pair keeps its order, Brier score
"""
