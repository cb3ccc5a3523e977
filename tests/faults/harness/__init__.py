"""Applications as real processes, faults that strike them, and a verdict about their results.

A *schedule* (schedule.py) says which faults strike, from a seed. A *run* (run.py) carries it out: records come in
(feed.py), the application works under a supervisor (copies.py), faults strike (faults.py), results are read as they are
committed (results.py), and in the end held against what lies in the input topics (truth.py, verdict.py).

Used by the tests beside it and by bench/faults.py.
"""
