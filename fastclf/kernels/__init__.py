"""Kernel functions of support vector machines: their values for blocks of rows. Nothing here is public."""
