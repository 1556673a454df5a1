"""Addresses that are no cluster's are refused in one line, and soon."""

import socket

import pytest

from fmarl.cluster import connect
from fmarl.cluster.connect import require_cluster
from fmarl.errors import BadInput


@pytest.mark.parametrize("address", ["", "head", "head:", ":6379", "head:0", "head:x", "ray://h:1"])
def test_what_is_no_address_is_refused_without_asking(address):
    with pytest.raises(BadInput, match="host:port"):
        require_cluster(address)


def test_where_nothing_listens_there_is_no_cluster():
    with socket.socket() as taken:  # bound, but nobody listens
        taken.bind(("127.0.0.1", 0))
        with pytest.raises(BadInput, match="nothing listens there"):
            require_cluster(f"127.0.0.1:{taken.getsockname()[1]}")


def test_what_listens_and_never_answers_is_given_up(monkeypatch):
    monkeypatch.setattr(connect, "ANSWER_SECONDS", 1.0)
    with socket.socket() as mute:
        mute.bind(("127.0.0.1", 0))
        mute.listen()
        with pytest.raises(BadInput, match="no Ray"):
            require_cluster(f"127.0.0.1:{mute.getsockname()[1]}")
