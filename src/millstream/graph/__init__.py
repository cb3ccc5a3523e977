"""The immutable logical graph that the DSL builds, the rules that improve it, and its writing into a topology."""
