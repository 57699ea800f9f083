// A user of node-redlock, for others.rs: node node_redlock.js PORTS NAME once | count FILE TIMES
//
// `once` asks once: it prints "taken" and holds the lock until its input ends, or ends with 1. `count` adds 1 to the number
// in a file so many times, each under the lock.
const fs = require("fs");
const Redis = require("ioredis");
const { default: Redlock, ExecutionError } = require("redlock");

const [ports, name, what, file, times] = process.argv.slice(2);
const settings = { enableReadyCheck: false, maxRetriesPerRequest: 1 };
const servers = ports.split(",").map((port) => new Redis(port, settings));
// One of the servers may be down.
servers.forEach((server) => server.on("error", () => {}));
// What it sends again because a server did not know a script may arrive after its release, and stays until the ttl.
const ttl = 5000;

const redlock = new Redlock(servers, { retryCount: 0 });

async function once() {
  const lock = await redlock.acquire([name], ttl);
  fs.writeSync(1, "taken\n");
  await new Promise((end) => process.stdin.on("end", end).resume());
  await lock.release();
}

// Its own retries keep what an attempt has got at a minority: two processes can then block each other for the ttl.
async function acquired() {
  for (;;) {
    try {
      return await redlock.acquire([name], ttl);
    } catch (error) {
      if (!(error instanceof ExecutionError)) throw error;
      await new Promise((over) => setTimeout(over, Math.random() * 30));
    }
  }
}

async function count() {
  // Whoever started it is gone.
  process.stdin.on("end", () => process.exit(3)).resume();
  for (let i = 0; i < times; i++) {
    const lock = await acquired();
    const number = Number(fs.readFileSync(file));
    await new Promise((over) => setTimeout(over, 1));
    fs.writeFileSync(file, String(number + 1));
    await lock.release();
  }
}

(what === "once" ? once() : count()).then(
  () => {
    process.stdin.destroy();
    servers.forEach((server) => (server.status === "ready" ? server.quit() : server.disconnect()));
  },
  (error) => {
    if (!(error instanceof ExecutionError)) console.error(error);
    process.exit(error instanceof ExecutionError ? 1 : 2);
  },
);
