//! Hooks of coding agents: their events, their answers, their settings.
