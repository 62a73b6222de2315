# Written by .ci/stubs.py; do not edit.
from ..display.binary import CalibrationDisplay as CalibrationDisplay
from ..metrics.probabilities import calibration_curve as calibration_curve
