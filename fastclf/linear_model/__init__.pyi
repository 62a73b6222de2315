# Written by .ci/stubs.py; do not edit.
from .least_squares import LeastSquaresClassifier as LeastSquaresClassifier
from .logistic import LogisticRegression as LogisticRegression
from .logistic_cv import LogisticRegressionCV as LogisticRegressionCV
from .perceptron import Perceptron as Perceptron
from .ridge import RidgeClassifier as RidgeClassifier
from .ridge import RidgeClassifierCV as RidgeClassifierCV
