"""Locks of a museum: each has one flaw that was common once, or is. docs/museum.md tells what comes of it.

cotter verify --client 'exec python3 locks.py NAME'
"""
import os, sys, time

sys.dont_write_bytecode = True  # Nothing is left beside the page.
from wire import COMPARE_AND_DELETE, PROCESS, SERVERS, TTL, acquired, patiently, renewed, serve

redis = SERVERS[0]


def no_owner_check(name):
    asked = patiently(lambda: redis("SET", name, "locked", "NX", "PX", TTL))
    acquired(asked)
    yield
    redis("DEL", name)


def setnx_then_expire(name):
    owner = os.urandom(8).hex()
    patiently(lambda: redis("SETNX", name, owner))
    acquired()
    time.sleep(0.1)  # Only in the museum: so wide, a kill meets the gap within seconds.
    renewed(time.monotonic_ns())
    redis("PEXPIRE", name, TTL)
    yield
    redis("EVAL", COMPARE_AND_DELETE, 1, name, owner)


def clients_clock(name):
    def clock():  # Of two hosts: that of process 2 is ahead by two ttl.
        return time.time_ns() // 1_000_000 + (2 * TTL if PROCESS == 2 else 0)

    def attempt():
        nonlocal expiry
        expiry = clock() + TTL
        if redis("SETNX", name, expiry):
            return True
        seen = redis("GET", name)
        return seen and int(seen) < clock() and redis("GETSET", name, expiry) == seen

    expiry = 0
    asked = patiently(attempt)
    acquired(asked)
    yield
    if clock() < expiry:
        redis("DEL", name)


def unfenced_pause(name):
    owner = os.urandom(8).hex()
    patiently(lambda: redis("SET", name, owner, "NX", "PX", TTL))
    acquired()
    yield
    redis("EVAL", COMPARE_AND_DELETE, 1, name, owner)


def redlock(name):
    owner = os.urandom(8).hex()

    def all_servers(*words):
        answers = []
        for server in SERVERS:
            try:
                answers.append(server(*words))
            except OSError:
                pass
        return answers

    def give_back():
        all_servers("EVAL", COMPARE_AND_DELETE, 1, name, owner)

    def attempt():
        votes = all_servers("SET", name, owner, "NX", "PX", TTL)
        if sum(vote == "OK" for vote in votes) > len(SERVERS) // 2:
            return True
        give_back()
        time.sleep(0.01 * PROCESS)
        return False

    asked = patiently(attempt)
    acquired(asked)
    yield
    give_back()


serve(globals()[sys.argv[1].replace("-", "_")])
