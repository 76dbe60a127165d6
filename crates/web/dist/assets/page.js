// A small page: sign in by code, watch the processes, read one screen, type a line.
const at = (id) => document.getElementById(id);
const show = (...ids) => ["pair", "deck", "process"].forEach((id) => { at(id).hidden = !ids.includes(id); });
const say = (text) => { at("state").textContent = text; };
let opened = null;

async function api(path, method = "GET", body) {
  const headers = { "X-Qd": "1" };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const response = await fetch(`api/v1/${path}`, { method, headers, body: body && JSON.stringify(body) });
  const value = await response.json();
  if (!response.ok) throw Object.assign(new Error(value.error.message), { status: response.status });
  return value;
}

async function socket(path, ticketFor) {
  const { ticket } = await api("tickets", "POST", ticketFor);
  const url = new URL(path, document.baseURI);
  url.protocol = url.protocol.replace("http", "ws");
  return new WebSocket(url, ["qd.1", `qd.ticket.${ticket}`]);
}

const processes = new Map();

function draw() {
  const rows = [...processes.values()].map((process) => {
    const row = document.createElement("li");
    const button = document.createElement("button");
    button.textContent = `${process.name}  ${process.kind}  ${process.state ?? process.status}`;
    button.addEventListener("click", () => open(process));
    row.append(button);
    return row;
  });
  at("processes").replaceChildren(...rows);
  if (opened) refresh();
}

async function refresh() {
  const process = opened;
  const screen = await api(`processes/${process.id}/screen?limit=65536`);
  if (opened === process) at("screen").textContent = screen.text;
}

function open(process) {
  opened = process;
  at("title").textContent = process.name;
  show("deck", "process");
  refresh().catch((error) => say(error.message));
}

async function watch() {
  const events = await socket("ws/events", { for: "events" });
  events.addEventListener("message", ({ data }) => {
    const message = JSON.parse(data);
    if (message.type === "snapshot") {
      processes.clear();
      message.processes.forEach((process) => processes.set(process.id, process));
    } else if (message.what?.changed) processes.set(message.what.changed.id, message.what.changed);
    else if (message.what?.removed) processes.delete(message.what.removed.id);
    draw();
  });
  events.addEventListener("open", () => say("connected"));
  events.addEventListener("close", ({ code }) => {
    say(code === 4403 ? "signed out" : "trying again…");
    setTimeout(begin, code === 4403 ? 0 : 1000);
  });
}

async function begin() {
  try {
    await api("me");
    show("deck");
    await watch();
  } catch (error) {
    if (error.status === 401) { show("pair"); say("not signed in"); } else { say(error.message); setTimeout(begin, 2000); }
  }
}

async function pair(code, name) {
  await api("login", "POST", { code, name });
  await begin();
}

at("pair").addEventListener("submit", (event) => {
  event.preventDefault();
  pair(at("code").value, at("name").value).catch((error) => say(error.message));
});

at("type").addEventListener("submit", (event) => {
  event.preventDefault();
  const text = at("text").value;
  api(`processes/${opened.id}/input`, "POST", { input: { text }, submit: true })
    .then((wrote) => { at("text").value = ""; say(`wrote ${wrote.written} of ${wrote.of} bytes`); return refresh(); })
    .catch((error) => say(error.message));
});

const given = new URLSearchParams(location.hash.slice(1));
history.replaceState(null, "", location.pathname);
if (given.has("c")) pair(given.get("c"), navigator.platform || "browser").catch((error) => { say(error.message); begin(); });
else if (given.has("l")) api("login", "POST", { link: given.get("l") }).then(begin, (error) => say(error.message));
else begin();
