//! Agents that speak the Agent Client Protocol, as delegates.
