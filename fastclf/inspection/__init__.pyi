# Written by .ci/stubs.py; do not edit.
from ..display.models import DecisionBoundaryDisplay as DecisionBoundaryDisplay
