// Addresses below the base and what they show.

export type ProcessTab = "now" | "screen" | "log";
export type TaskTab = "overview" | "changes" | "runs";

export type Route =
  | { view: "deck" | "wall" | "inbox" | "tasks" | "settings" | "pair" | "unknown" }
  | { view: "item"; item: number }
  | { view: "process"; id: string; tab?: ProcessTab }
  | { view: "task"; name: string; tab: TaskTab }
  | { view: "pads"; name?: string; project?: string };

const PROCESS_TABS: readonly string[] = ["now", "screen", "log"];
const TASK_TABS: readonly string[] = ["overview", "changes", "runs"];

/** Returns the route of a path relative to the base, without a slash in front. */
export function parseRoute(path: string, query: string): Route {
  const [first, second] = path.split("/").filter(Boolean).map(decode);
  const fields = new URLSearchParams(query);
  const tab = fields.get("tab") ?? "";
  switch (first) {
    case undefined: return { view: "deck" };
    case "wall": case "tasks": case "settings": case "pair": return { view: first };
    case "inbox": {
      const item = second ?? fields.get("item") ?? "";
      return /^\d+$/.test(item) ? { view: "item", item: Number(item) } : { view: "inbox" };
    }
    case "p":
      if (!second) return { view: "deck" };
      return PROCESS_TABS.includes(tab) ? { view: "process", id: second, tab: tab as ProcessTab } : { view: "process", id: second };
    case "t":
      if (!second) return { view: "tasks" };
      return { view: "task", name: second, tab: TASK_TABS.includes(tab) ? (tab as TaskTab) : "overview" };
    case "pads": {
      const [name, project] = [second ?? fields.get("name"), fields.get("project")];
      return { view: "pads", ...(name ? { name } : {}), ...(project ? { project } : {}) };
    }
    default: return { view: "unknown" };
  }
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

const part = encodeURIComponent;

/** The addresses of the views, relative to the base. */
export const paths = {
  deck: "./",
  wall: "wall",
  inbox: "inbox",
  tasks: "tasks",
  settings: "settings",
  item: (item: number): string => `inbox?item=${item}`,
  process: (id: string, tab?: ProcessTab): string => `p/${part(id)}${tab ? `?tab=${tab}` : ""}`,
  task: (name: string, tab?: TaskTab): string => `t/${part(name)}${tab ? `?tab=${tab}` : ""}`,
  pads: (name?: string, project?: string): string => {
    const fields = [...(name ? [`name=${part(name)}`] : []), ...(project ? [`project=${part(project)}`] : [])];
    return `pads${fields.length > 0 ? `?${fields.join("&")}` : ""}`;
  },
};
