"""The type stubs: they follow from signatures and docstrings, and are in the installed package."""

import subprocess
import sys
from pathlib import Path

import pytest
from conftest import CHECKOUT

import fastclf

pytestmark = pytest.mark.once


def test_the_stubs_are_what_signatures_and_docstrings_say():
    command = [sys.executable, CHECKOUT / ".ci" / "stubs.py", "--check"]
    checked = subprocess.run(command, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_each_module_with_public_names_is_installed_with_its_stub():
    installed = Path(fastclf.__file__).parent
    stubs = [path.relative_to(CHECKOUT / "fastclf") for path in (CHECKOUT / "fastclf").rglob("*.pyi")]
    assert len(stubs) > 30
    assert not [path for path in stubs if not (installed / path).exists()]
