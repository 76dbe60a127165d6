//! The body around the engine: tasks, screens, holders, the door.
