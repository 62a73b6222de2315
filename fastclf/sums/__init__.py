"""Sums over rows in blocks with fixed bounds, so that the number of threads changes no bit. This package is private."""
