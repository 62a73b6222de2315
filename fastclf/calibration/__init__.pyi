# Written by .ci/stubs.py; do not edit.
from ..metrics.probabilities import calibration_curve as calibration_curve
