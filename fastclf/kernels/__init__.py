"""Kernel functions of support vector machines, computed for blocks of rows. Nothing in this package is public."""
