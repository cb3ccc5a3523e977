"""Texts of .proto files as descriptors, and the places of messages in them."""
