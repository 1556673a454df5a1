"""What Ray itself does about a host that is cut off for long; the Ray engine counts on it."""

import time

import pytest

from cluster.driver import Driver
from cluster.namespaces import QUICK_HEALTH_CHECKS, Host, Hosts

pytest.importorskip("ray")
pytestmark = pytest.mark.cluster


def test_a_host_that_was_given_up_is_back_only_with_a_new_node():
    with Hosts(2) as [head, lost]:
        head.start_ray(settings=QUICK_HEALTH_CHECKS)
        lost.start_ray(head=head)
        driver = Driver(head, head.ray_address)
        driver.ask("place", lost.address)

        lost.cut()
        driver.ask("call", lost.address)
        assert driver.ask("outcome", 60.0) == "ActorDiedError"
        assert driver.ask("hosts") == [head.address]
        assert lost.processes()  # nobody could tell them

        lost.heal()
        assert _dies_out(lost)
        assert driver.ask("hosts") == [head.address]

        lost.start_ray(head=head)
        assert driver.ask("place", lost.address) == 1


def _dies_out(host: Host) -> bool:
    """Whether all that runs in a host ends by itself."""
    deadline = time.monotonic() + 120.0
    while host.processes() and time.monotonic() < deadline:
        time.sleep(0.1)
    return not host.processes()
