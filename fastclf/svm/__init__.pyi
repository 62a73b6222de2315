# Written by .ci/stubs.py; do not edit.
from .kernel_perceptron import KernelPerceptron as KernelPerceptron
from .linear_svc import LinearSVC as LinearSVC
from .novikoff import NovikoffBound as NovikoffBound
from .nu_svc import NuSVC as NuSVC
from .svc import SVC as SVC
from .novikoff import novikoff_bound as novikoff_bound
from .svc import svm_path as svm_path
