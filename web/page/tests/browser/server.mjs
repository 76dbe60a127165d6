// A server with fixed data for the page's own tests: it speaks the contract of docs/web.md as far as the page uses it,
// with the real server's Content-Security-Policy.

import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join } from "node:path";
import { accept } from "./websocket.mjs";
import { dist } from "../../build/build.mjs";

const TYPES = { ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".png": "image/png", ".woff2": "font/woff2", ".webmanifest": "application/manifest+json" };
const PAGES = /^(|pair|inbox|pads|settings|wall|tasks|p\/[^/]+|t\/[^/]+)$/;

const policy = (nonce) => `default-src 'none'; script-src 'self'; style-src 'self' 'nonce-${nonce}'; img-src 'self' blob:; connect-src 'self'; font-src 'self'; manifest-src 'self'; worker-src 'self'; base-uri 'self'; form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'`;

/** Starts a server for a world (tests/fixtures); returns its address and how to stop it. */
export async function serve(world, { base = "/", port = 0 } = {}) {
  const open = new Set();
  const calls = [];
  const views = new Set();
  const events = new Set();
  const server = createServer((request, response) => void answer(request, response));
  server.on("connection", (socket) => {
    open.add(socket);
    socket.on("close", () => open.delete(socket));
  });

  async function answer(request, response) {
    const url = new URL(request.url, "http://localhost");
    const path = url.pathname.startsWith(base) ? url.pathname.slice(base.length) : url.pathname.slice(1);
    const nonce = randomBytes(12).toString("base64");
    response.setHeader("Content-Security-Policy", policy(nonce));
    response.setHeader("Cache-Control", "no-store");
    if (path.startsWith("api/v1/")) return api(request, response, path.slice(7), url.searchParams);
    const isPage = PAGES.test(path);
    if (isPage || !extname(path)) {
      // As the real server does: an address that is nowhere gets the page, which says so.
      response.statusCode = isPage ? 200 : 404;
      response.setHeader("Content-Type", "text/html; charset=utf-8");
      response.setHeader("Cache-Control", "private, no-cache");
      return response.end(readFileSync(join(dist, "index.html"), "utf8").replaceAll("{{nonce}}", nonce).replaceAll("{{base}}", base));
    }
    try {
      const bytes = readFileSync(join(dist, path));
      response.setHeader("Content-Type", TYPES[extname(path)] ?? "application/octet-stream");
      response.end(bytes);
    } catch {
      response.writeHead(404).end();
    }
  }

  async function api(request, response, path, query) {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const bytes = Buffer.concat(chunks);
    const isFile = request.headers["content-type"] === "application/octet-stream";
    const body = isFile ? bytes : bytes.length === 0 ? undefined : JSON.parse(bytes.toString());
    const call = { method: request.method, path: decodeURIComponent(path), parts: path.split("/").map(decodeURIComponent), query: Object.fromEntries(query), body };
    calls.push(call);
    const reply = world.answer(call);
    const value = reply ?? { status: 404, body: { error: { code: "not_found", message: `nothing is at ${path}` } } };
    response.setHeader("Content-Type", "application/json");
    response.writeHead(value.status ?? 200).end(JSON.stringify("status" in value ? value.body : value.ok));
  }

  server.on("upgrade", (request, socket) => {
    const path = new URL(request.url, "http://localhost").pathname.slice(base.length);
    const connection = accept(request, socket, (data) => {
      if (typeof data === "string" && data.includes('"ping"')) return connection.json({ type: "pong", id: JSON.parse(data).id });
      world.received?.(path, data, connection);
    }, () => {
      events.delete(connection);
      views.delete(connection);
    });
    if (path === "ws/events" && world.isDaemonGone) return connection.close(4503);
    if (path === "ws/events") {
      events.add(connection);
      connection.json({ type: "snapshot", revision: world.revision, processes: world.processes });
    } else if (path.startsWith("ws/view/")) {
      views.add(connection);
      world.attach(decodeURIComponent(path.slice(8)), connection, new URL(request.url, "http://localhost").searchParams);
    }
  });

  await new Promise((resolve) => server.listen(port, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}${base}`,
    calls,
    event: (what) => {
      world.revision++;
      for (const connection of events) connection.json({ type: "event", revision: world.revision, what });
    },
    views,
    /** Closes the events as the real server does when its daemon is gone, or a device is revoked. */
    closeEvents: (code) => {
      for (const connection of events) connection.close(code);
    },
    cut: () => {
      for (const socket of open) socket.destroy();
    },
    stop: () => new Promise((resolve) => {
      for (const socket of open) socket.destroy();
      server.close(resolve);
    }),
  };
}
