"""Sums over rows in blocks with fixed bounds: the number of threads changes no bit. All of it is private."""
