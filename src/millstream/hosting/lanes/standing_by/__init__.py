"""Standing by: a lane keeps the stores of tasks that other lanes have warm, so that it can go on with them at once."""
