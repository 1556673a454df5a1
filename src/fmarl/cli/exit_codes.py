"""What a run ends with that can not go on, by what keeps it from it."""

from fmarl.cluster.head_watch import ClusterLost
from fmarl.engine.engine import EngineFailed
from fmarl.engine.train import Diverged
from fmarl.launch.core_pool import HostsLost
from fmarl.records.atomic_files import DiskTrouble
from fmarl.records.checkpoint import NoGoodCheckpoint

EXIT_CODES: dict[type[Exception], int] = {
    EngineFailed: 3,
    ClusterLost: 3,
    HostsLost: 3,
    Diverged: 4,
    DiskTrouble: 5,
    NoGoodCheckpoint: 6,
}
