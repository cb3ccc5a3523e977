"""Statements of clients, executed by all servers of a service.

`statements` takes requests; what changes the catalogue or the queries goes through the command topic (`log`), and every
server executes it from there (`execution`).
"""
