"""What the locks of the museum share: connections to Redis, and the protocol of `cotter verify --client` (docs/verify.md)."""
import os, select, socket, sys, time
from urllib.parse import urlsplit

TTL = int(os.environ["COTTER_VERIFY_TTL_MS"])
PROCESS = int(os.environ["COTTER_VERIFY_PROCESS"])
COMPARE_AND_DELETE = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0"


class Redis:
    """A server. One command, as in redis("GET", name): a number, a text or None; OSError if the server is away."""

    def __init__(self, address):
        host, _, port = address.partition(":")
        self.address, self.stream = (host, int(port or 6379)), None

    def __call__(self, *words):
        try:
            self.stream = self.stream or socket.create_connection(self.address, 1).makefile("rwb")
            words = [str(word).encode() for word in words]
            head = b"*%d\r\n" % len(words)
            self.stream.write(head + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words))
            self.stream.flush()
            return self.answer()
        except OSError:
            self.stream = None
            raise

    def answer(self):
        line = self.stream.readline()
        if not line:
            raise ConnectionResetError("the server has closed the connection")
        sign, rest = line[:1], line[1:-2].decode()
        if sign == b"-":
            raise RuntimeError(rest)
        if sign != b"$":
            return int(rest) if sign == b":" else rest
        return None if rest == "-1" else self.stream.read(int(rest) + 2)[:-2].decode()


# Those of COTTER_URL, redis://HOST:PORT or redlock://HOST:PORT,HOST:PORT,HOST:PORT.
SERVERS = [Redis(address) for address in urlsplit(os.environ["COTTER_URL"]).netloc.split("@")[-1].split(",")]


def patiently(attempt):
    """Tries until it succeeds; the time before that attempt. Ends with the input, as there is nobody to answer any more."""
    while True:
        asked = time.monotonic_ns()
        if attempt():
            return asked
        if select.select([sys.stdin], [], [], 0.005)[0]:
            sys.exit()


def until(asked):
    """When a holder stops to believe: before a server that was asked then can let the lease end, by whose clock ever."""
    return asked + (TTL * 99 // 100 - 2) * 1_000_000


def acquired(asked=None):
    """The lock is held: until its deadline, or for as long as nobody says otherwise."""
    say("acquired", "-", *([] if asked is None else [until(asked)]))


def renewed(asked):
    say("renewed", until(asked))


def say(*words):
    print(*words, flush=True)


def serve(lock):
    """Answers requests: what a lock does before its `yield` acquires it, and the rest releases it."""
    for line in sys.stdin:
        word, *name = line.split()
        if word == "acquire":
            held = lock(*name)
            next(held)
        else:
            next(held, None)
            say("released")
