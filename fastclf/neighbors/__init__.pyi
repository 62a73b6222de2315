# Written by .ci/stubs.py; do not edit.
from .classifier import KNeighborsClassifier as KNeighborsClassifier
from .density import KNeighborsDensity as KNeighborsDensity
from .regressor import KNeighborsRegressor as KNeighborsRegressor
from .centroid import NearestCentroid as NearestCentroid
from .nearest import NearestNeighbors as NearestNeighbors
