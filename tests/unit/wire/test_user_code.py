"""A user's error crosses processes, and shows nothing of ours."""

import pickle

import pytest

from fmarl.errors import BadInput
from fmarl.user_code import LONGEST_TRACEBACK, UserCodeFailed, failed_in, failure_of


def bug(depth: int = 0) -> None:
    try:
        _ = {}["channel"]
    except KeyError as first:
        raise ValueError("no such channel\n" * 100) from first


def caught() -> Exception:
    with pytest.raises(ValueError) as found:
        bug()
    return found.value


def test_type_place_and_the_chain_of_causes_are_kept_and_all_is_bounded():
    failure = failure_of(caught())
    assert failure.kind == "ValueError" and "test_user_code.py:" in failure.place
    assert "KeyError: 'channel'" in failure.traceback and "direct cause" in failure.traceback
    assert "\n" not in failure.line and len(failure.line) < 600
    assert len(failure.traceback) <= LONGEST_TRACEBACK + 10


def test_it_survives_being_sent_as_ray_sends_exceptions():
    failed = UserCodeFailed("world channels in slot 3", failure_of(caught()))
    again = pickle.loads(pickle.dumps(failed))
    assert (str(again), again.report) == (str(failed), failed.report)


def test_a_library_that_complains_gets_one_line_and_the_user_s_file_a_traceback():
    with pytest.raises(ValueError) as of_library:
        int("x")
    of_library.value.__traceback__ = None
    assert isinstance(failed_in("making it", of_library.value), BadInput)
    assert isinstance(failed_in("making it", caught()), UserCodeFailed)
