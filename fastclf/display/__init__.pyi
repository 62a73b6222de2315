# Written by .ci/stubs.py; do not edit.
from .binary import CalibrationDisplay as CalibrationDisplay
from .comparison import ComparisonDisplay as ComparisonDisplay
from .matrix import ConfusionMatrixDisplay as ConfusionMatrixDisplay
from .models import DecisionBoundaryDisplay as DecisionBoundaryDisplay
from .binary import DetCurveDisplay as DetCurveDisplay
from .curves import LearningCurveDisplay as LearningCurveDisplay
from .binary import PrecisionRecallDisplay as PrecisionRecallDisplay
from .residuals import PredictionErrorDisplay as PredictionErrorDisplay
from .curves import PruningDisplay as PruningDisplay
from .curves import QueryCostDisplay as QueryCostDisplay
from .binary import RocCurveDisplay as RocCurveDisplay
from .models import TreeDisplay as TreeDisplay
from .curves import ValidationCurveDisplay as ValidationCurveDisplay
from .comparison import comparison_figure as comparison_figure
