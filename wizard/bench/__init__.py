"""Measure a served model: load, dataset, the load generator's process, statistics, report."""
