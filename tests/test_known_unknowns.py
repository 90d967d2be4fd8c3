"""What is public is there, means what it means within, and costs nothing before it is asked for."""

import subprocess
import sys

import pytest

import helpers.outputs
import known_unknowns
import known_unknowns.auditing


def test_every_name_is_there():
    for name in known_unknowns.__all__:
        assert getattr(known_unknowns, name) is not None
    assert known_unknowns.audit is known_unknowns.auditing.audit
    assert issubclass(known_unknowns.Outputs, helpers.outputs.Outputs)
    with pytest.raises(AttributeError, match="no attribute 'audti'"):
        _ = known_unknowns.audti


def test_nothing_is_imported_before_it_is_asked_for():
    program = (
        "import sys\nimport known_unknowns as ku\n"
        "assert not {'numpy', 'pandas', 'torch'} & set(sys.modules)\n"
        "sys.modules['torch'] = None\n"
        "for name in ku.__all__:\n    getattr(ku, name)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert not done.returncode, done.stderr[-500:]
