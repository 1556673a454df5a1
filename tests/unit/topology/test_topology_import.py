import subprocess
import sys
from inspect import ismodule

import fmarl.topology


def test_every_exported_name_exists_and_none_is_forgotten():
    names = vars(fmarl.topology).items()
    public = {name for name, thing in names if not (name.startswith("_") or ismodule(thing))}

    assert public == set(fmarl.topology.__all__)


def test_importing_topology_loads_nothing_heavy():
    heavy = "{'jax', 'networkx', 'scipy', 'matplotlib', 'fmarl.theory'}"
    program = f"import sys, fmarl.topology; sys.exit(', '.join({heavy} & set(sys.modules)))"

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)

    assert done.stderr.strip() == ""
