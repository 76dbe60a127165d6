//! The MCP face: what an agent leads other agents with.
