//! Workflow runs through the public face.
