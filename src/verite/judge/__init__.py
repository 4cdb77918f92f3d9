"""Studies of human judgement: comparisons of localization results by people, and metrics held against their votes."""
