# Written by .ci/stubs.py; do not edit.
from .classifier import DecisionTreeClassifier as DecisionTreeClassifier
from .regressor import DecisionTreeRegressor as DecisionTreeRegressor
from .density_tree import DensityTree as DensityTree
from .graph import export_graphviz as export_graphviz
from .text import export_rules as export_rules
from .text import export_text as export_text
from .picture import plot_tree as plot_tree
from .text import rules as rules
