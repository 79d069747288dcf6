"""How fast a server of the course is, under load and beside others.

`pdm run serve-bench` starts each server in a process of its own, and asks over real
sockets. Where several are compared, they take turns.
"""
