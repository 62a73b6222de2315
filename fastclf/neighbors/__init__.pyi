# Written by .ci/stubs.py; do not edit.
from .classifier import KNeighborsClassifier as KNeighborsClassifier
from .density import KNeighborsDensity as KNeighborsDensity
from .regressor import KNeighborsRegressor as KNeighborsRegressor
from .transformers import KNeighborsTransformer as KNeighborsTransformer
from .centroid import NearestCentroid as NearestCentroid
from .nearest import NearestNeighbors as NearestNeighbors
from .radius_classifier import RadiusNeighborsClassifier as RadiusNeighborsClassifier
from .radius_regressor import RadiusNeighborsRegressor as RadiusNeighborsRegressor
from .transformers import RadiusNeighborsTransformer as RadiusNeighborsTransformer
from .graphs import kneighbors_graph as kneighbors_graph
from .graphs import radius_neighbors_graph as radius_neighbors_graph
from .graphs import sort_graph_by_row_values as sort_graph_by_row_values
