"""kazoo's locks, line by line: KIND HOW PATH is answered with "held", "busy" or "free"."""

import sys

from kazoo.client import KazooClient

client = KazooClient(hosts=sys.argv[1], timeout=20)
client.start()
kinds = {"lock": client.Lock, "write": client.WriteLock, "read": client.ReadLock}
locks = {}
for line in sys.stdin:
    kind, how, path = line.split()
    lock = locks.setdefault((kind, path), kinds[kind](path, "theirs"))
    if how == "release":
        lock.release()
        answer = "free"
    else:
        answer = "held" if lock.acquire(blocking=how == "wait") else "busy"
    print(answer, flush=True)
