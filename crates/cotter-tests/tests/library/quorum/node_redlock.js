// A user of node-redlock, for others.rs and benchmarks:
// node node_redlock.js PORTS NAME once | count FILE TIMES | pairs SECONDS | race SECONDS
//
// `once` asks once: it prints "taken" and holds the lock until its input ends, or ends with 1. `count` adds 1 to the number
// in a file so many times, each under the lock. `pairs` prints how often a second it has acquired and released names of its
// own. `race` takes the lock again and again, once it is told to, and prints what the benchmark `race` of cotter prints.
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
// As it comes, but that it goes on trying.
const patient = new Redlock(servers, { retryCount: -1 });

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

async function pairs() {
  const length = Number(file) * 1e3;
  await (await patient.acquire([`${name} warm`], ttl)).release();
  const begin = performance.now();
  let done = 0;
  while (performance.now() - begin < length) {
    const lock = await patient.acquire([`${name} ${done++}`], ttl);
    await lock.release();
  }
  fs.writeSync(1, `${(done / (performance.now() - begin)) * 1e3}\n`);
}

async function race() {
  const length = Number(file) * 1e3;
  const between = 30_000n;
  const runs = [];
  let held = 0;
  let worst = 0;
  fs.writeSync(1, "ready\n");
  await new Promise((told) => process.stdin.once("data", told));
  const begin = performance.now();
  while (performance.now() - begin < length) {
    const asked = performance.now();
    const lock = await patient.acquire([name], ttl);
    const since = process.hrtime.bigint();
    const last = runs.at(-1);
    held++;
    if (last && since - last[1] < between) last[1] = process.hrtime.bigint();
    else runs.push([since, process.hrtime.bigint()]);
    await lock.release();
    worst = Math.max(worst, performance.now() - asked);
  }
  const lines = runs.map(([start, end]) => `${start} ${end} 0 0\n`);
  fs.writeSync(1, `${held} 0 ${Math.round(worst * 1e3)}\n${lines.join("")}`);
}

({ once, count, pairs, race })[what]().then(
  () => {
    process.stdin.destroy();
    servers.forEach((server) => (server.status === "ready" ? server.quit() : server.disconnect()));
  },
  (error) => {
    if (!(error instanceof ExecutionError)) console.error(error);
    process.exit(error instanceof ExecutionError ? 1 : 2);
  },
);
