"""The parts of `bench/console.py`."""
