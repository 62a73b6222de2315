# Written by .ci/stubs.py; do not edit.
from .onehot import OneHotEncoder as OneHotEncoder
from .polynomial import PolynomialFeatures as PolynomialFeatures
