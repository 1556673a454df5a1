"""What a run ends with that can not go on, by what keeps it from it."""

from fmarl.cluster.head import ClusterLost
from fmarl.cluster.slots import HostsLost
from fmarl.engine.engine import CanNotGoOn
from fmarl.engine.train import Diverged
from fmarl.records.checkpoint import NoGoodCheckpoint
from fmarl.records.durable import DiskTrouble

EXIT_CODES: dict[type[Exception], int] = {
    CanNotGoOn: 3,
    ClusterLost: 3,
    HostsLost: 3,
    Diverged: 4,
    DiskTrouble: 5,
    NoGoodCheckpoint: 6,
}
