// A socket after sleep: how soon it is live again, in mocked time, and what it asks for meanwhile.

import assert from "node:assert/strict";
import { mock, test } from "node:test";

/** Fact 18: so long after the return everything is live again. */
const LIVE_AGAIN_MS = 2000;
/** What a server on a near network takes for an answer. */
const ROUND_TRIP_MS = 10;

/** A browser with one socket in it, and a network whose connections die. */
class World {
  /** So many of the connections that the browser keeps for calls are dead: each swallows one request. */
  deadCalls = 0;
  isServerSilent = false;
  tickets = 0;
  readonly sockets: FakeSocket[] = [];
  readonly listeners = new Map<string, Set<() => void>>();

  on(name: string, listener: () => void): void {
    this.listeners.set(name, (this.listeners.get(name) ?? new Set()).add(listener));
  }

  fire(...names: string[]): void {
    for (const name of names) for (const listener of [...(this.listeners.get(name) ?? [])]) listener();
  }

  get live(): FakeSocket | undefined {
    return this.sockets.find((socket) => socket.readyState === 1 && !socket.isDead);
  }
}

let world = new World();

class FakeSocket {
  static readonly CONNECTING = 0;
  static readonly OPEN = 1;
  readyState = 0;
  isDead = world.isServerSilent;
  onopen: (() => void) | null = null;
  onmessage: ((event: { data: string }) => void) | null = null;
  onclose: ((event: { code: number }) => void) | null = null;

  constructor() {
    world.sockets.push(this);
    setTimeout(() => {
      if (this.isDead || this.readyState !== 0) return;
      this.readyState = 1;
      this.onopen?.();
    }, ROUND_TRIP_MS);
  }

  send(data: string): void {
    setTimeout(() => this.isDead || this.onmessage?.({ data: JSON.stringify({ type: "pong", id: (JSON.parse(data) as { id: number }).id }) }), ROUND_TRIP_MS);
  }

  close(): void {
    this.readyState = 3;
  }
}

function fakeFetch(_url: URL, init: RequestInit): Promise<Response> {
  world.tickets++;
  return new Promise((resolve, reject) => {
    init.signal?.addEventListener("abort", () => reject(new DOMException("", "AbortError")));
    if (world.deadCalls-- > 0) return;
    setTimeout(() => resolve(new Response('{"ticket":"abc","seconds":30}', { status: 200 })), ROUND_TRIP_MS);
  });
}

Object.assign(globalThis, {
  document: { baseURI: "http://127.0.0.1/", hidden: false, querySelector: () => null, addEventListener: (name: string, listener: () => void) => world.on(name, listener), removeEventListener: () => undefined },
  addEventListener: (name: string, listener: () => void) => world.on(name, listener),
  removeEventListener: () => undefined,
  WebSocket: FakeSocket,
  fetch: fakeFetch,
});
const { Socket } = await import("../../src/socket.ts");

/** Lets mocked time pass, with everything that was promised done in between. */
async function pass(milliseconds: number, isOver: () => boolean = () => false): Promise<number> {
  for (let passed = 0; passed <= milliseconds; passed += ROUND_TRIP_MS) {
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
    if (isOver()) return passed;
    mock.timers.tick(ROUND_TRIP_MS);
  }
  return milliseconds;
}

/** Runs a test with a socket that is open. */
async function withSocket(run: (losses: number[]) => Promise<void>): Promise<void> {
  world = new World();
  const losses: number[] = [];
  mock.timers.enable({ apis: ["setTimeout", "Date"], now: 1_000_000 });
  const socket = new Socket(() => "ws/events", { for: "events" }, { open: () => undefined, message: () => undefined, lost: (code) => losses.push(code) });
  try {
    await pass(1000, () => world.live !== undefined);
    await pass(100);
    await run(losses);
  } finally {
    socket.close();
    mock.timers.reset();
  }
}

const isLive = (): boolean => world.live !== undefined;

for (const deadCalls of [0, 1, 2, 4]) {
  test(`w18 a socket and ${deadCalls} kept connections that sleep has killed are replaced within two seconds`, async () => {
    await withSocket(async () => {
      world.live!.isDead = true;
      world.deadCalls = deadCalls;
      world.fire("visibilitychange", "pageshow", "online");
      const after = await pass(10_000, isLive);
      assert.ok(after <= LIVE_AGAIN_MS, `${after} ms`);
      await pass(30_000);
      assert.equal(world.sockets.length, 2, "one new socket is enough");
    });
  });
}

test("w18 a page without a network is live within two seconds of its return, also with dead connections", async () => {
  await withSocket(async () => {
    world.deadCalls = 4;
    world.live!.onclose?.({ code: 1006 });
    world.sockets[0]!.isDead = true;
    world.deadCalls = 1000;
    await pass(60_000);
    world.deadCalls = 3;
    world.fire("online");
    const after = await pass(10_000, isLive);
    assert.ok(after <= LIVE_AGAIN_MS, `${after} ms`);
  });
});

test("w18 an attempt that was under way when the device fell asleep is not waited for", async () => {
  await withSocket(async () => {
    world.isServerSilent = true;
    world.live!.onclose?.({ code: 1006 });
    world.sockets[0]!.isDead = true;
    await pass(700, () => world.sockets.length === 2);
    assert.equal(world.sockets[1]!.readyState, FakeSocket.CONNECTING);
    await pass(700);
    world.isServerSilent = false;
    world.fire("visibilitychange");
    const after = await pass(10_000, isLive);
    assert.ok(after <= LIVE_AGAIN_MS, `${after} ms`);
  });
});

test("w18 a connection that nobody answers is given up and tried again, without an end", async () => {
  await withSocket(async () => {
    world.isServerSilent = true;
    world.live!.onclose?.({ code: 1006 });
    world.sockets[0]!.isDead = true;
    await pass(60_000);
    const tried = world.sockets.length;
    assert.ok(tried > 3 && tried < 20, `${tried}`);
    assert.equal(world.sockets.filter((socket) => socket.readyState !== 3).length <= 2, true, "those that were given up are closed");
    world.isServerSilent = false;
    await pass(20_000, isLive);
    assert.ok(isLive());
  });
});

test("w18 a socket that lives stays, and costs one ping each time the page is seen again", async () => {
  await withSocket(async (losses) => {
    const before = world.tickets;
    for (let time = 0; time < 5; time++) {
      world.fire("visibilitychange", "pageshow");
      await pass(1000);
    }
    assert.deepEqual([world.tickets - before, world.sockets.length, losses], [0, 1, []]);
  });
});

test("a page that leaves closes its socket and connects when it is shown again", async () => {
  await withSocket(async (losses) => {
    world.fire("pagehide");
    await pass(30_000);
    assert.deepEqual([world.sockets.map((socket) => socket.readyState), losses], [[3], [0]]);
    world.fire("pageshow");
    assert.ok((await pass(5000, isLive)) <= LIVE_AGAIN_MS);
  });
});
