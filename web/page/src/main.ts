// Starts the page: login, events, drawing.

import "./theme.css";
import "./layout.css";
import "./views.css";
import { render } from "lit-html";
import { ApiError, get, setHandlers } from "./api.ts";
import { app, loadLazy } from "./app.ts";
import { beginEvents, endEvents, onEvent } from "./events.ts";
import { withProcesses } from "./model.ts";
import { go, readAddress, watchLinks } from "./navigate.ts";
import { registerWorker } from "./notify.ts";
import { stepUp } from "./parts/dialog.ts";
import { extra } from "./parts/palette.ts";
import { applyTheme, watchSystem } from "./preferences.ts";
import { paths } from "./router.ts";
import { watchKeyboard } from "./shortcuts.ts";
import { invalidate, setDraw, state, update } from "./store.ts";
import { text } from "./strings.ts";
import type { DoorEvent, InboxItem, Me, ProcessView } from "./types.ts";
import { logIn, setBegin, takeFragment } from "./views/pair.ts";
import { markSeen } from "./seen.ts";
import { watchViewport } from "./viewport.ts";

const root = document.getElementById("app")!;

function draw(): void {
  render(app(), root);
  const shown = state.route.view === "process" ? state.model.processes.get(state.route.id) : undefined;
  document.title = text.title(shown?.name ?? titleOf(), state.model.inbox.length);
  if (shown) markSeen(shown);
}

function titleOf(): string {
  const { route } = state;
  if (state.login !== undefined) return text.pairTitle;
  if (route.view === "task") return route.name;
  if (route.view === "item") return text.inbox;
  return route.view === "unknown" || route.view === "process" ? text.product : text[route.view === "pair" ? "pairTitle" : route.view];
}

/**
 * Begins the session: who we are, then the events. `answered` is the login's answer: a paired browser that opens a link stays
 * what it is, and the link only says where to go.
 */
async function begin(answered?: Me): Promise<void> {
  const early = Promise.all([get<ProcessView[]>("processes"), get<InboxItem[]>("inbox")]).catch(() => undefined);
  const me = await get<Me>("me");
  update({ login: undefined, model: { ...state.model, me } });
  if (state.route.view === "pair") go(paths.deck, true);
  beginEvents();
  openTarget(answered ?? me);
  // The first drawing does not wait for the socket.
  void early.then((found) => {
    if (found && !state.model.isLoaded) update({ model: { ...withProcesses(state.model, found[0]), inbox: found[1] } });
  });
  loadLazy((views) => {
    extra.entries = () => me.target !== undefined ? [] : [
      ...views.taskList().map((task) => ({ label: task.name, kind: text.kindTask, path: paths.task(task.name) })),
      ...views.padList().map((pad) => ({ label: pad.name, kind: text.pads, path: paths.pads(pad.name) })),
    ];
    onEvent((what) => refresh(what, views));
    invalidate();
  });
}

/** A link may be for one thing only; it opens on that. */
function openTarget(me: Me): void {
  if (state.route.view !== "deck") return;
  if (me.target !== undefined) go(typeof me.target === "string" ? paths.process(me.target) : paths.task(me.target.task), true);
}

let taskTimer: ReturnType<typeof setTimeout> | undefined;

/** Events are hints: what a view shows of tasks and pads is fetched again, at most once a second. */
function refresh(what: DoorEvent, views: typeof import("./lazy.ts")): void {
  if (what.pad_changed && state.route.view === "pads") views.refreshPads();
  const isTask = state.route.view === "task" || state.route.view === "tasks";
  if (!isTask || !(what.turn_ended || what.exited || what.changed)) return;
  taskTimer ??= setTimeout(() => {
    taskTimer = undefined;
    views.refreshTasks();
    if (what.turn_ended) views.refreshReview();
  }, 1000);
}

async function start(): Promise<void> {
  const secret = takeFragment();
  if (secret.code || secret.link) {
    if (await logIn(secret)) return;
    return update({ login: state.login ?? "" });
  }
  try {
    await begin();
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 401) {
      update({ link: "lost" });
      setTimeout(() => void start(), 2000);
    }
  }
}

applyTheme();
setDraw(draw);
setBegin(begin);
setHandlers({
  signedOut: () => {
    endEvents();
    update({ login: state.model.me ? text.signedOut : "" });
  },
  stepUp,
});
readAddress();
watchLinks();
watchKeyboard();
watchSystem();
watchViewport();
registerWorker();
setInterval(() => {
  if (!document.hidden) update({ now: Date.now() });
}, 1000);
invalidate();
void start();
