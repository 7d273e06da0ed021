//! For tests of agents: scripted models, a virtual clock, crash points, a strict chat server.
