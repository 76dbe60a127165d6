// The views that load after the first screen: processes, the wall, tasks, pads, settings.

export { refreshReview } from "./views/changes.ts";
export { padList, pads, refreshPads } from "./views/pads.ts";
export { onScreen, process } from "./views/process.ts";
export { settings } from "./views/settings.ts";
export { refreshTasks, task, taskList, tasks } from "./views/task.ts";
export { wall } from "./views/wall.ts";
