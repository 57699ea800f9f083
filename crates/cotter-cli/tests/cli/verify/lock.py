"""A lock of another program, as a client of `cotter verify`: right, or broken in a known way.

python3 lock.py FOLDER WAY
"""
import fcntl, json, os, sys, time

folder, way = sys.argv[1:]
ttl = int(os.environ["COTTER_VERIFY_TTL_MS"]) * 1_000_000
permits = int(os.environ["COTTER_VERIFY_PERMITS"]) + (way == "one-too-many")
me = str(os.getpid()) + "-" + str(time.monotonic_ns())


def server(name, step):
    """One request to a server: the state of a name is read, changed and written at once."""
    file = os.open(os.path.join(folder, name.replace(":", "-")), os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(file, fcntl.LOCK_EX)
    state = json.loads(os.pread(file, 1000, 0) or '{"held": {}, "last": 0}')
    answer = step(state)
    # In one call, whenever this process is killed.
    os.pwrite(file, json.dumps(state).ljust(1000).encode(), 0)
    os.close(file)
    return answer


def take(state):
    now = time.monotonic_ns()
    held = {owner: until for owner, until in state["held"].items() if now < until}
    if len(held) >= permits:
        return None
    state["last"] = 1 if way == "same-token" else state["last"] + 1
    forever = way == "never-free"
    state["held"] = {**held, me: now + (ttl * 1000 if forever else ttl)}
    return state["last"]


def give_back(state):
    if way == "no-owner-check":
        state["held"] = {}
    elif way != "never-free":
        state["held"].pop(me, None)


def say(*words):
    print(*words, flush=True)


name = None
for line in sys.stdin:
    word, *rest = line.split()
    if word == "acquire":
        name, token = rest[0], None
        while token is None:
            asked = time.monotonic_ns()
            token = "-" if way == "no-lock" else server(name, take)
            time.sleep(0.002)
        # A holder that does not know its deadline believes until it is told otherwise.
        say("acquired", token, *([] if way in ("own-clock", "no-lock") else [asked + ttl]))
    else:
        if way != "no-lock":
            server(name, give_back)
        say("released")
