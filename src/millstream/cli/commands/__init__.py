"""The sub-commands of millstream, one module each, and what they plan before they act."""
