"""The console of an application of the DSL."""
