"""Sums over rows in blocks of fixed bounds: the same bits from any number of threads. Nothing here is public."""
