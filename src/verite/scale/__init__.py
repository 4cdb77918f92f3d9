"""Distributed evaluation: partial results of shards, merged to the scores of the whole dataset."""
