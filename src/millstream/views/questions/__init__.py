"""Answering a question: where it goes, what is looked up there, how answers become one."""
