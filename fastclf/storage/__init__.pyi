# Written by .ci/stubs.py; do not edit.
from .file import load as load
from .file import save as save
