"""What a run leaves on disk. Plain arrays and JSON; nothing is ever unpickled.

Read `run_folder.py` first (what lies where), then `checkpoint.py` (state that survives everything)
and `durable.py` (why it does). `lines.py` is metrics and events, `lock.py` one process per run.
"""
