// The page behind real proxies with the lines that docs/web.md recommends: nginx and Caddy, at the root and below a path, which
// each of them removes or passes on.
// `cargo xtask setup` installs both; without one its tests fail.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createConnection, createServer } from "node:net";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { page as pageDirectory } from "../../build/build.mjs";
import { launch, openPage } from "./chromium.mjs";
import { startQuarterdeck } from "./quarterdeck.mjs";

const program = process.env.QD_PROGRAM ?? join(pageDirectory, "../../target/debug/qd");

function find(name) {
  const path = ["/usr/sbin", "/usr/bin", "/usr/local/bin"].map((place) => join(place, name)).find((path) => existsSync(path));
  assert.ok(path, `${name} is not installed: cargo xtask setup installs it`);
  return path;
}

/** The configurations that docs/web.md recommends: what stands between the fences that hold these words. */
const documented = readFileSync(join(pageDirectory, "../../docs/web.md"), "utf8").split("```").filter((_text, index) => index % 2 === 1);
function snippet(...words) {
  const found = documented.filter((text) => words.every((word) => text.includes(word)));
  assert.equal(found.length, 1, `docs/web.md has ${found.length} snippets with ${words}`);
  return found[0].trim();
}

const PROXIES = {
  nginx: {
    words: (directory) => ["-p", directory, "-c", join(directory, "config"), "-e", join(directory, "errors")],
    config: ({ port, server, directory, base, removes }) => `daemon off; user ${userInfo().username}; pid ${directory}/pid; error_log ${directory}/errors;
events {}
http {
  access_log off; client_body_temp_path ${directory}/body; proxy_temp_path ${directory}/proxy; fastcgi_temp_path ${directory}/f; uwsgi_temp_path ${directory}/u; scgi_temp_path ${directory}/s;
  server {
    listen 127.0.0.1:${port} ssl;
    ssl_certificate ${directory}/cert.pem; ssl_certificate_key ${directory}/key.pem;
    absolute_redirect off;
    ${snippet("location / {").replace("location /", `location ${base}`).replace("http://127.0.0.1:7373", `http://${server}${removes ? "/" : ""}`)}
  }
}
`,
  },
  caddy: {
    words: (directory) => ["run", "--config", join(directory, "config"), "--adapter", "caddyfile"],
    config: ({ port, server, directory, base, removes }) => {
      const documented = base === "/" ? snippet("desk.example {\n    reverse_proxy") : snippet("handle /qd/*");
      const own = documented.replace("desk.example {", `https://desk.example:${port} {\n  bind 127.0.0.1\n  tls ${directory}/cert.pem ${directory}/key.pem`).replace("127.0.0.1:7373", server);
      return `{\n  admin off\n  auto_https disable_redirects\n}\n${removes ? own.replace("handle ", "handle_path ") : own}\n`;
    },
  },
};

function freePort() {
  return new Promise((resolve) => {
    const server = createServer();
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

/** Resolves once something listens there. */
async function listening(port) {
  for (let attempt = 0; attempt < 200; attempt++) {
    const isOpen = await new Promise((resolve) => {
      const socket = createConnection(port, "127.0.0.1", () => resolve(true));
      socket.on("error", () => resolve(false));
      socket.on("connect", () => socket.destroy());
    });
    if (isOpen) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`nothing listens at ${port}`);
}

async function startProxy(name, options) {
  const directory = mkdtempSync(join(tmpdir(), "qd-proxy-"));
  mkdirSync(join(directory, "home"));
  const { words, config } = PROXIES[name];
  execFileSync("openssl", ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=desk.example", "-addext", "subjectAltName=DNS:desk.example",
    "-keyout", join(directory, "key.pem"), "-out", join(directory, "cert.pem")], { stdio: "ignore" });
  writeFileSync(join(directory, "config"), config({ ...options, directory }));
  const child = spawn(find(name), words(directory), { stdio: ["ignore", "ignore", "pipe"], env: { ...process.env, HOME: join(directory, "home"), XDG_DATA_HOME: directory, XDG_CONFIG_HOME: directory } });
  let said = "";
  child.stderr.on("data", (chunk) => {
    said += chunk;
  });
  await listening(options.port).catch((error) => {
    throw new Error(`${error.message}: ${said}`);
  });
  return () => {
    child.kill("SIGTERM");
    rmSync(directory, { recursive: true, force: true });
  };
}

const WAYS = [
  { base: "/", removes: false, how: "at the root, at a port of its own" },
  { base: "/qd/", removes: false, how: "below a path, which it passes on" },
  { base: "/qd/", removes: true, how: "below a path, which it removes" },
];

/** A file of this size must get through. */
const FILE = 5 << 20;

async function tryEverything(deck, page, home) {
  const { id } = deck.json("spawn", "--name", "proxied", "--", "/bin/sh", "-c", "echo through the proxy; exec cat");
  await page.goto(`${home}#c=${deck.code}`);
  await page.waitForSelector("#main .line");
  await page.goto(`${home}p/${id}?tab=screen`);
  await page.waitForFunction(() => document.querySelector(".xterm-rows")?.textContent.includes("through the proxy"));
  await page.keyboard.type("typed here");
  await page.waitForFunction(() => document.querySelector(".xterm-rows")?.textContent.includes("typed here"));
  for (const path of ["wall", "inbox", "tasks", "pads", "settings", `p/${id}?tab=log`, `p/${id}?tab=now`]) {
    await page.goto(home + path);
    await page.waitForSelector("#main .page");
  }
  const stored = await page.evaluate(([process, bytes]) => fetch(`api/v1/processes/${process}/files?name=large`, { method: "POST", headers: { "X-Qd": "1" }, body: new Uint8Array(bytes) }).then((answer) => answer.json()), [id, FILE]);
  assert.equal(stored.bytes, FILE, JSON.stringify(stored));
  // People type the address without its last slash.
  await page.goto(home.slice(0, -1));
  await page.waitForSelector("#main .line");
  assert.equal(page.url(), home);
  assert.deepEqual(page.problems, []);
}

for (const name of Object.keys(PROXIES)) {
  for (const { base, removes, how } of WAYS) {
    const title = `w29 every view, socket and file works behind ${name} ${how}`;
    test(title, async () => {
      find(name);
      const [port, own] = [await freePort(), await freePort()];
      const site = base === "/" ? `https://desk.example:${port}` : "https://desk.example";
      const deck = await startQuarterdeck(program, ["--base", base, "--behind-proxy", site, "--bind", `127.0.0.1:${own}`]);
      const stop = await startProxy(name, { port, server: `127.0.0.1:${own}`, base, removes });
      const browser = await launch([`--host-resolver-rules=MAP desk.example${base === "/" ? "" : ":443"} 127.0.0.1${base === "/" ? "" : `:${port}`}`, "--ignore-certificate-errors"]);
      try {
        await tryEverything(deck, await openPage(browser), site + base);
      } finally {
        await browser.close();
        stop();
        deck.stop();
      }
    });
  }
}
