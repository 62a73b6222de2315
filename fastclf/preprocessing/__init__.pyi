# Written by .ci/stubs.py; do not edit.
from .functions import FunctionFeatures as FunctionFeatures
from .onehot import OneHotEncoder as OneHotEncoder
from .polynomial import PolynomialFeatures as PolynomialFeatures
