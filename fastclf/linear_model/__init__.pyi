# Written by .ci/stubs.py; do not edit.
from .least_squares import LeastSquaresClassifier as LeastSquaresClassifier
from .logistic import LogisticRegression as LogisticRegression
from .perceptron import Perceptron as Perceptron
