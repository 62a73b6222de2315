# Written by .ci/stubs.py; do not edit.
from .generalised import GeneralisedLinearClassifier as GeneralisedLinearClassifier
from .kernel_maps import Nystroem as Nystroem
from .kernel_maps import RBFSampler as RBFSampler
