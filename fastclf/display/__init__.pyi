# Written by .ci/stubs.py; do not edit.
from .comparison import ComparisonDisplay as ComparisonDisplay
from .curves import ConfusionMatrixDisplay as ConfusionMatrixDisplay
from .models import DecisionBoundaryDisplay as DecisionBoundaryDisplay
from .curves import LearningCurveDisplay as LearningCurveDisplay
from .curves import PrecisionRecallDisplay as PrecisionRecallDisplay
from .curves import PruningDisplay as PruningDisplay
from .curves import QueryCostDisplay as QueryCostDisplay
from .curves import RocCurveDisplay as RocCurveDisplay
from .models import TreeDisplay as TreeDisplay
from .curves import ValidationCurveDisplay as ValidationCurveDisplay
from .comparison import comparison_figure as comparison_figure
