"""Statistics shared by analysis, ranking and leaderboard: confidence intervals, exact tests, multiple comparisons.

- `intervals`: Wilson's interval of a proportion (also of clustered trials), bootstrap intervals, Student's t
- `half_samples`: confidence interval around AP, for test sets of this size or of N images
- `resampling`: bootstrap and half-samples of images, or of groups of images
- `mcnemar`: McNemar's exact test over objects, and the exact sign-flip test over images
- `multiple_comparisons`: stepdown tests of all pairs, confidence sets for ranks, groups of tied detectors
- `shrinkage`: true scores given noisy ones, for probabilities without the winner's curse
- `rankings`: rank probabilities and pairwise win probabilities from simulated scores
- `calibration`: predicted against observed probabilities that a pair keeps its order, Brier score
"""
