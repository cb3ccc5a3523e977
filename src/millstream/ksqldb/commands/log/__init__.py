"""The command topic: what is in it, reading and writing it, its backup."""
